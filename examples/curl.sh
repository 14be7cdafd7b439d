#!/bin/sh
# Lists, creates, updates and deletes order statuses. Usage: curl.sh <address> <API key>
set -eu
statuses=$1/restapi/orderstatuses
key=$2

call() {
  curl -sS --fail-with-body -H "X-API-AUTH: $key" "$@"
}

# Prints the value of a field in a record. In a real program, use a JSON parser such as jq.
field() {
  sed "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/"
}

count=$(call -D - -o /dev/null "$statuses.json" | tr -d '\r' | sed -n 's/^[Xx]-[Tt]otal-[Cc]ount: //p')
echo "listed $count order statuses"

created=$(call -d '{"Name": "On hold"}' "$statuses.json")
id=$(echo "$created" | field ID)
echo "created $(echo "$created" | field Name)"

updated=$(call -X PUT -d '{"Name": "Waiting"}' "$statuses/$id.json")
echo "updated $(echo "$updated" | field Name)"

deleted=$(call -X DELETE "$statuses/$id.json")
echo "deleted $(echo "$deleted" | field Name)"

xml=$(call -d '<OrderStatus><Name>Smith &amp; Sons</Name></OrderStatus>' "$statuses.xml" | tr -d '\n')
id=$(echo "$xml" | sed 's/.*ID="\([0-9]*\)".*/\1/')
echo "created in XML $(echo "$xml" | sed 's/.*<Name>\(.*\)<\/Name>.*/\1/; s/&amp;/\&/g')"
call -X DELETE "$statuses/$id.xml" >/dev/null
