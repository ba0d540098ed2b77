//go:build tools

// Package apiserver pins the programs of a Kubernetes control plane, so that tests can talk to a real API server on a
// machine that reaches nothing but the Go module proxy. There is no code of ours in it: ./build compiles the three
// programs named here at the versions in go.mod.
package apiserver

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
)
