"""Receives webhooks, verifies their signatures, and prints the changes. Needs Python 3.8 or newer, but no libraries."""

import base64, hashlib, hmac, json, os, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# One key per secret; secrets are separated by spaces.
keys = [base64.b64decode(secret.replace("whsec_", "")) for secret in os.environ.get("SECRET", "").split(" ")]
if not all(keys):
    sys.exit("set SECRET to the webhook's secret")


def is_genuine(headers, body):
    """Whether the server sent this request in the last five minutes. `body` must have the bytes exactly as they arrived."""
    id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit() and abs(time.time() - int(timestamp[:15])) <= 300):
        return False
    content = f"{id}.{timestamp}.".encode("latin-1") + body
    # While the secret is being changed, there are several signatures. One match is enough.
    given = headers.get("webhook-signature", "").encode("latin-1").split(b" ")
    expected = [b"v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()) for key in keys]
    return any([hmac.compare_digest(one, other) for one in given for other in expected])


# If you store the records, store these three along with them.
last = None  # the last event's Next
handled = {}  # the last 1000 webhook-ids, oldest first
revisions = {}  # each record's highest Revision, by a name such as "brands 12", including deleted records
lock = threading.Lock()


def handle_once(id, event):
    """Handles an event unless we've had it before. If handling it fails, it isn't remembered, and the server sends it again."""
    with lock:
        if id in handled:
            return
        handle(event)
        handled[id] = True
        if len(handled) > 1000:
            del handled[next(iter(handled))]


def handle(event):
    global last
    data = event["data"]
    is_next = last is None or "Since" not in data or last in (data["Since"], data["Next"])
    if "Since" in data:
        last = data["Next"]
    if event["type"] == "storefront.gone" or not is_next:
        # A restored site's revisions can be lower.
        revisions.clear()
        return print("some changes are missing; read the lists again", flush=True)
    for change in data.get("Changes", []):
        record = f"{change['Resource']} {change['ID']}"
        # This change is late: we already have a newer version of the record.
        if change["Revision"] <= revisions.get(record, 0):
            continue
        name = change["Record"]["Name"] if change["Record"] else ""
        print(change["Operation"], record, name, flush=True)
        revisions[record] = change["Revision"]


class Receiver(BaseHTTPRequestHandler):
    timeout = 15

    def do_POST(self):
        length = self.headers.get("content-length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 8 and int(length) <= 5_000_000):
            return self.respond(413)
        body = self.rfile.read(int(length))
        if not is_genuine(self.headers, body):
            return self.respond(401)
        handle_once(self.headers["webhook-id"], json.loads(body))
        self.respond(204)

    def respond(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 9000), Receiver)
sys.stdout.reconfigure(encoding="utf-8")
print("listening on port", server.server_port, flush=True)
server.serve_forever()
