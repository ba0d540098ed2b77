"""A gate in front of the stand-in that lets a service's call through only if the policies in the account allow it.

moto enforces no policy. The gate knows who calls by the credentials that AssumeRoleWithWebIdentity gave out (after holding
the token's claims against the role's trust policy), names the action and resources of the call, and asks the role's
policies and the queue's own. It keeps what it saw, so that policies can be held against the calls that were made.
"""

import base64
import json
import re
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections import defaultdict
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from lab import ACCOUNT, REGION, StandIn

PREFIXES = {"AmazonSQS": "sqs", "AmazonSSM": "ssm", "DynamoDB_20120810": "dynamodb"}


def as_list(value) -> list:
    return value if isinstance(value, list) else [value]


def table_arn(name: str) -> str:
    return name if name.startswith("arn:") else f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}"


def resources_of(service: str, call: dict) -> tuple[list[str], set[str]]:
    """The ARNs that a call touches, and the partition keys of the rows."""
    if service == "sqs":
        return [f"arn:aws:sqs:{REGION}:{ACCOUNT}:{call['QueueUrl'].rsplit('/', 1)[1]}"], set()
    if service == "ssm":
        names = call.get("Names") or [call["Name"]]
        return [f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter{name}" for name in names], set()
    if "RequestItems" in call:
        items = [put["PutRequest"]["Item"] for puts in call["RequestItems"].values() for put in puts]
        return [table_arn(name) for name in call["RequestItems"]], {item["tenant_id"]["S"] for item in items}
    row = call.get("Item") or call.get("Key") or {}
    return [table_arn(call["TableName"])], {row["tenant_id"]["S"]} if "tenant_id" in row else set()


def allows(statement: dict, action: str, resource: str, keys: set[str]) -> bool:
    """Whether one Allow statement covers a call. A condition that this gate does not know is an error, not a pass."""
    if action not in as_list(statement["Action"]) or not any(fnmatchcase(resource, one) for one in as_list(statement["Resource"])):
        return False
    for operator, conditions in statement.get("Condition", {}).items():
        if (operator, list(conditions)) != ("ForAllValues:StringEquals", ["dynamodb:LeadingKeys"]):
            raise NotImplementedError(f"condition {operator} {conditions}")
        if not keys <= set(as_list(conditions["dynamodb:LeadingKeys"])):
            return False
    return True


def web_identity_token(issuer: str, tenant: str, app: str) -> str:
    """A token with the claims of a projected service account token. Nobody here checks its signature."""

    def part(content: dict) -> str:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")

    claims = {"iss": f"https://{issuer}", "aud": ["sts.amazonaws.com"], "sub": f"system:serviceaccount:{tenant}:{tenant}-{app}"}
    return f"{part({'alg': 'RS256', 'typ': 'JWT'})}.{part(claims)}.c2lnbmF0dXJl"


class Gate:
    """Listens on `endpoint` until `stop`; `allowed` and `denied` are the actions seen, by role name."""

    def __init__(self, aws: StandIn, authorised_by: dict[str, str]) -> None:
        self._aws, self._authorised_by = aws, authorised_by
        self._lock = threading.Lock()
        self._role_of_key: dict[str, str] = {}
        self.allowed: dict[str, set[str]] = defaultdict(set)
        self.denied: dict[str, set[str]] = defaultdict(set)
        gate = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                status, headers, answer = gate.answer(self.path, dict(self.headers.items()), body)
                self.send_response(status)
                for name, value in headers.items():
                    if name.lower() not in ("content-length", "connection", "transfer-encoding", "date", "server"):
                        self.send_header(name, value)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *arguments):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, headers: dict, body: bytes) -> tuple[int, dict, bytes]:
        lower = {name.lower(): value for name, value in headers.items()}
        target = lower.get("x-amz-target")
        if target is None:
            return self._sign_in(path, headers, body)
        prefix, operation = target.split(".")
        service = PREFIXES[prefix]
        action = self._authorised_by.get(f"{service}:{operation}", f"{service}:{operation}")
        key = re.search(r"Credential=([^/]+)/", lower.get("authorization", ""))
        role = self._role_of_key.get(key.group(1)) if key else None
        if role is None or not self._permitted(role, action, *resources_of(service, json.loads(body))):
            with self._lock:
                self.denied[role or "nobody"].add(action)
            words = {"__type": "AccessDeniedException", "message": f"{role or 'nobody'} is not authorized to perform: {action}"}
            return 400, {"content-type": "application/x-amz-json-1.0"}, json.dumps(words).encode()
        with self._lock:
            self.allowed[role].add(action)
        return self._forward(path, headers, body)

    def _permitted(self, role: str, action: str, resources: list[str], keys: set[str]) -> bool:
        iam = self._aws.client("iam")
        statements = [
            statement
            for name in iam.list_role_policies(RoleName=role)["PolicyNames"]
            for statement in iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]["Statement"]
        ]
        return all(any(allows(one, action, resource, keys) for one in [*statements, *self._queue_policy(role, resource)]) for resource in resources)

    def _queue_policy(self, role: str, resource: str) -> list[dict]:
        if ":sqs:" not in resource:
            return []
        sqs = self._aws.client("sqs")
        url = f"{self._aws.endpoint}/{ACCOUNT}/{resource.rsplit(':', 1)[1]}"
        policy = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"]).get("Attributes", {}).get("Policy")
        return [one for one in json.loads(policy)["Statement"] if one["Principal"]["AWS"].endswith(f":role/{role}")] if policy else []

    def _sign_in(self, path: str, headers: dict, body: bytes) -> tuple[int, dict, bytes]:
        """AssumeRoleWithWebIdentity, when the role trusts the token's claims."""
        form = {name: values[0] for name, values in urllib.parse.parse_qs(body.decode()).items()}
        role = form["RoleArn"].rsplit("/", 1)[1]
        encoded = form["WebIdentityToken"].split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
        issuer = claims["iss"].removeprefix("https://")
        (trust,) = self._aws.client("iam").get_role(RoleName=role)["Role"]["AssumeRolePolicyDocument"]["Statement"]
        wanted = {f"{issuer}:sub": claims["sub"], f"{issuer}:aud": claims["aud"][0]}
        if trust["Condition"] != {"StringEquals": wanted} or not trust["Principal"]["Federated"].endswith(f":oidc-provider/{issuer}"):
            with self._lock:
                self.denied[role].add("sts:AssumeRoleWithWebIdentity")
            return 403, {"content-type": "text/xml"}, b"<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>"
        status, got, answer = self._forward(path, headers, body)
        found = re.search(rb"<AccessKeyId>([^<]+)</AccessKeyId>", answer)
        if found:
            with self._lock:
                self._role_of_key[found.group(1).decode()] = role
        return status, got, answer

    def _forward(self, path: str, headers: dict, body: bytes) -> tuple[int, dict, bytes]:
        kept = {name: value for name, value in headers.items() if name.lower() not in ("connection", "content-length")}
        request = urllib.request.Request(self._aws.endpoint + path, data=body, headers=kept, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, dict(response.headers.items()), response.read()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers.items()), error.read()
