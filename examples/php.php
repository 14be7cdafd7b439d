<?php
// Lists, creates, updates and deletes order statuses. Usage: php.php <address> <API key>

[, $address, $key] = $argv;

/**
 * Returns the response's body. Retries temporary failures, and keeps to the key's rate limit. Throws with the problem document if the status isn't 2xx,
 * or without one if there's no response.
 */
function call(string $method, string $path, ?string $body = null): string
{
    global $key;
    $headers = ["X-API-AUTH: $key"];
    if ($body !== null) {
        $headers[] = 'Content-Type: application/' . (str_contains($path, '.xml') ? 'xml' : 'json');
    }
    if ($method !== 'GET') {
        // Every attempt has the same one, so nothing is written twice.
        $headers[] = 'Idempotency-Key: ' . bin2hex(random_bytes(16));
    }
    for ($attempt = 1; ; $attempt++) {
        [$status, $response, $wait] = attempt($method, $path, $headers, $body ?? '');
        if ($status >= 200 && $status < 300) {
            return $response;
        }
        $isTemporary = in_array($status, [0, 408, 409, 429, 502, 503, 504]) || ($status === 500 && $attempt === 1);
        if (!$isTemporary || $attempt === 6) {
            throw new RuntimeException($status === 0 ? 'no response from the server' : $response);
        }
        // Random, so that clients don't all come back at once.
        usleep((int) (($wait + 2 ** $attempt * random_int(50, 150) / 1000) * 1e6));
    }
}

/**
 * Sends a request once.
 * @return array the status, or 0 without a complete response; the body; and how many seconds the server asks to wait before a retry
 */
function attempt(string $method, string $path, array $headers, string $body): array
{
    global $address;
    static $pause = 0;
    usleep((int) ($pause * 1e6));
    $stream = @fopen("$address/restapi/$path", 'r', false, stream_context_create(['http' => [
        'method' => $method,
        'header' => $headers,
        'content' => $body,
        'ignore_errors' => true,
        'follow_location' => 0,
        'timeout' => 10,
    ]]));
    if ($stream === false) {
        return [0, '', 0];
    }
    $response = stream_get_contents($stream);
    $lines = stream_get_meta_data($stream)['wrapper_data'];
    $received = [];
    foreach (array_slice($lines, 1) as $line) {
        [$name, $value] = explode(':', $line, 2);
        $received[strtolower($name)] = trim($value);
    }
    // The key's rate limit: q requests in w seconds, of which r are left. After t seconds, it's q again.
    preg_match('/q=(\d+);w=(\d+)/', $received['ratelimit-policy'] ?? '', $limit);
    preg_match('/r=(\d+);t=(\d+)/', $received['ratelimit'] ?? '', $left);
    $pause = $limit && $left && $left[1] === '0' ? max(0, $left[2] - $limit[2]) + $limit[2] / $limit[1] : 0;
    $isComplete = strlen($response) === (int) ($received['content-length'] ?? strlen($response));
    return [$isComplete ? (int) explode(' ', $lines[0])[1] : 0, $response, (int) ($received['retry-after'] ?? 0)];
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
