"""Lists, creates, updates and deletes order statuses. Usage: python.py <address> <API key>"""

import json
import sys
import urllib.error
import urllib.request
import xml.etree.ElementTree as ET

address, key = sys.argv[1:3]


def call(method, path, body=None):
    """Returns the response's body. Raises RuntimeError with the problem document if the status isn't 2xx."""
    request = urllib.request.Request(f"{address}/restapi/{path}", body, {"X-API-AUTH": key}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.read()
    except urllib.error.HTTPError as error:
        raise RuntimeError(error.read().decode()) from error


def call_json(method, path, record=None):
    return json.loads(call(method, path, None if record is None else json.dumps(record).encode()))


statuses = call_json("GET", "orderstatuses.json")
print("listed", len(statuses), "order statuses")

created = call_json("POST", "orderstatuses.json", {"Name": "On hold"})
print("created", created["Name"])

updated = call_json("PUT", f"orderstatuses/{created['ID']}.json", {"Name": "Waiting"})
print("updated", updated["Name"])

deleted = call_json("DELETE", f"orderstatuses/{created['ID']}.json")
print("deleted", deleted["Name"])

record = ET.Element("OrderStatus")
ET.SubElement(record, "Name").text = "Smith & Sons"
stored = ET.fromstring(call("POST", "orderstatuses.xml", ET.tostring(record, encoding="utf-8")))
print("created in XML", stored.findtext("Name"))
call("DELETE", f"orderstatuses/{stored.get('ID')}.xml")
