<?php
// Receives webhooks, verifies their signatures, and prints the changes. Needs PHP 8 or newer, but no libraries.

const MAX_BODY_BYTES = 5_000_000;
/**
 * Has the last event's Next, the last 1000 webhook-ids, and each record's highest Revision, including deleted records. If you store the records, store these
 * three along with them.
 */
const STATE_FILE = __DIR__ . '/webhook.state';

/** Whether the server sent this request in the last five minutes. $body must have the bytes exactly as they arrived. */
function isGenuine(string $body): bool
{
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    $timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (!preg_match('/^\d{1,15}$/D', $timestamp) || abs(time() - (int) $timestamp) > 300) {
        return false;
    }
    foreach (keys() as $key) {
        $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
        // While the secret is being changed, there are several signatures. One match is enough.
        foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $given) {
            if (hash_equals($expected, $given)) {
                return true;
            }
        }
    }
    return false;
}

/** One key per secret; secrets are separated by spaces. */
function keys(): array
{
    $secrets = explode(' ', getenv('SECRET') ?: '');
    $keys = array_map(fn ($secret) => base64_decode(str_replace('whsec_', '', $secret)), $secrets);
    return in_array('', $keys, true) ? throw new RuntimeException("set SECRET to the webhook's secret") : $keys;
}

/** Handles an event unless we've had it before. If handling it fails, it isn't remembered, and the server sends it again. */
function handleOnce(string $id, array $event): void
{
    $file = fopen(STATE_FILE, 'c+');
    flock($file, LOCK_EX);
    $state = json_decode(stream_get_contents($file), true) ?? ['last' => null, 'handled' => [], 'revisions' => []];
    if (in_array($id, $state['handled'], true)) {
        return;
    }
    handle($event, $state);
    $state['handled'] = array_slice([...$state['handled'], $id], -1000);
    ftruncate($file, 0);
    rewind($file);
    fwrite($file, json_encode($state));
}

function handle(array $event, array &$state): void
{
    $output = fopen('php://stdout', 'w');
    $data = $event['data'];
    $last = $state['last'];
    $isNext = $last === null || !isset($data['Since']) || in_array($last, [$data['Since'], $data['Next']], true);
    if (isset($data['Since'])) {
        $state['last'] = $data['Next'];
    }
    if ($event['type'] === 'storefront.gone' || !$isNext) {
        // A restored site's revisions can be lower.
        $state['revisions'] = [];
        fwrite($output, "some changes are missing; read the lists again\n");
        return;
    }
    foreach ($data['Changes'] ?? [] as $change) {
        $record = "{$change['Resource']} {$change['ID']}";
        // This change is late: we already have a newer version of the record.
        if ($change['Revision'] <= ($state['revisions'][$record] ?? 0)) {
            continue;
        }
        $name = $change['Record']['Name'] ?? '';
        fwrite($output, "{$change['Operation']} $record $name\n");
        $state['revisions'][$record] = $change['Revision'];
    }
}

function receive(): int
{
    if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
        return 405;
    }
    $body = file_get_contents('php://input', length: MAX_BODY_BYTES + 1);
    if (strlen($body) > MAX_BODY_BYTES) {
        return 413;
    }
    if (!isGenuine($body)) {
        return 401;
    }
    handleOnce($_SERVER['HTTP_WEBHOOK_ID'], json_decode($body, true, flags: JSON_THROW_ON_ERROR));
    return 204;
}

// If anything fails, this status stays. PHP's default may be 200, which would lose the changes.
http_response_code(500);
http_response_code(receive());
