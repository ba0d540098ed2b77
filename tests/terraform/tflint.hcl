# The rules that tflint carries itself; they need nothing downloaded.
plugin "terraform" {
  enabled = true
  preset  = "all"
}

# Wants a main.tf; here a file holds one concept and is named by it.
rule "terraform_standard_module_structure" {
  enabled = false
}
