<?php
// Lists, creates, updates and deletes order statuses. Usage: php.php <address> <API key>

[, $address, $key] = $argv;

/** Returns the response's body. Throws with the problem document if the status isn't 2xx. */
function call(string $method, string $path, ?string $body = null): string
{
    global $address, $key;
    $context = stream_context_create(['http' => [
        'method' => $method,
        'header' => "X-API-AUTH: $key\r\nContent-Type: application/octet-stream",
        'content' => $body ?? '',
        'ignore_errors' => true,
        'timeout' => 10,
    ]]);
    $stream = fopen("$address/restapi/$path", 'r', false, $context);
    if ($stream === false) {
        throw new RuntimeException("no response from $address");
    }
    $response = stream_get_contents($stream);
    if (!preg_match('/ 2\d\d /', stream_get_meta_data($stream)['wrapper_data'][0])) {
        throw new RuntimeException($response);
    }
    return $response;
}

function callJson(string $method, string $path, ?array $record = null): array
{
    $body = $record === null ? null : json_encode($record, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE);
    return json_decode(call($method, $path, $body), true, 512, JSON_THROW_ON_ERROR);
}

$statuses = callJson('GET', 'orderstatuses.json');
echo 'listed ', count($statuses), " order statuses\n";

$created = callJson('POST', 'orderstatuses.json', ['Name' => 'On hold']);
echo "created {$created['Name']}\n";

$updated = callJson('PUT', "orderstatuses/{$created['ID']}.json", ['Name' => 'Waiting']);
echo "updated {$updated['Name']}\n";

$deleted = callJson('DELETE', "orderstatuses/{$created['ID']}.json");
echo "deleted {$deleted['Name']}\n";

$record = new SimpleXMLElement('<OrderStatus/>');
$record->Name = 'Smith & Sons';
$stored = new SimpleXMLElement(call('POST', 'orderstatuses.xml', $record->asXML()));
echo "created in XML {$stored->Name}\n";
call('DELETE', "orderstatuses/{$stored['ID']}.xml");
