<?php
// Receives webhooks, verifies their signatures, and prints the changes. Needs PHP 8 or newer, and no library.

const MAX_BODY_BYTES = 5_000_000;
/**
 * A file with the Next of the last event, the last 1000 values of webhook-id, and the highest Revision of each record, deleted records included. A
 * program that stores the records keeps these three with them.
 */
const STATE_FILE = __DIR__ . '/webhook.state';

/** Whether the request was sent by the server, in the last five minutes. $body must be the bytes as they arrived. */
function isGenuine(string $body): bool
{
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    $timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (!preg_match('/^\d{1,15}$/D', $timestamp) || abs(time() - (int) $timestamp) > 300) {
        return false;
    }
    foreach (keys() as $key) {
        $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
        // There are several signatures while the secret is being changed. One that matches is enough.
        foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $given) {
            if (hash_equals($expected, $given)) {
                return true;
            }
        }
    }
    return false;
}

/** The keys of one or more secrets, which are separated by spaces. */
function keys(): array
{
    $secrets = explode(' ', getenv('SECRET') ?: '');
    $keys = array_map(fn ($secret) => base64_decode(str_replace('whsec_', '', $secret)), $secrets);
    return in_array('', $keys, true) ? throw new RuntimeException('set SECRET to the secret of the webhook') : $keys;
}

/** Handles an event, unless it is a repetition. If this fails, the event is not remembered, and the server sends it again. */
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
        // The numbers of a restored site can be lower.
        $state['revisions'] = [];
        fwrite($output, "some changes are missing: read the lists again\n");
        return;
    }
    foreach ($data['Changes'] ?? [] as $change) {
        $record = "{$change['Resource']} {$change['ID']}";
        // If the change arrives late, a later state of the record is stored.
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

// If anything fails, this status stays. PHP's own may be 200, and the changes would be lost.
http_response_code(500);
http_response_code(receive());
