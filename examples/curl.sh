#!/bin/sh
# Lists, creates, updates and deletes order statuses. Usage: curl.sh <address> <API key>
set -eu
statuses=$1/restapi/orderstatuses
key=$2

# Sends a request and prints the response, to stderr if it's a problem. A failed call ends the script.
call() {
  response=$(curl -sS --fail-with-body -H "X-API-AUTH: $key" "$@") || {
    failure=$?
    [ -z "$response" ] || printf '%s\n' "$response" >&2
    return $failure
  }
  printf '%s\n' "$response"
}

# Prints a field's value. In a real program, use a JSON parser such as jq.
field() {
  sed "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/"
}

listed=$(call "$statuses.json")
echo "listed $(echo "$listed" | grep -o '"ID":' | wc -l | tr -d ' ') order statuses"

created=$(call -d '{"Name": "On hold"}' "$statuses.json")
id=$(echo "$created" | field ID)
echo "created $(echo "$created" | field Name)"

updated=$(call -X PUT -d '{"Name": "Waiting"}' "$statuses/$id.json")
echo "updated $(echo "$updated" | field Name)"

deleted=$(call -X DELETE "$statuses/$id.json")
echo "deleted $(echo "$deleted" | field Name)"

created=$(call -d '<OrderStatus><Name>Smith &amp; Sons</Name></OrderStatus>' "$statuses.xml")
id=$(echo "$created" | sed -n 's/.*ID="\([0-9]*\)".*/\1/p')
echo "created in XML $(echo "$created" | sed -n 's/.*<Name>\(.*\)<\/Name>.*/\1/p' | sed 's/&amp;/\&/g')"
call -X DELETE "$statuses/$id.xml" >/dev/null
