<?php
// Receives webhooks, verifies their signatures, and prints the changes. Needs PHP 8 or newer, and no library.

const MAX_BODY_BYTES = 5_000_000;
/** A file with the Next of the last event. A program that stores the records keeps it with them. */
const LAST_FILE = __DIR__ . '/webhook.last';

/** Whether the request was sent by the server, in the last five minutes. $body must be the bytes as they arrived. */
function isGenuine(string $body): bool
{
    $secret = getenv('SECRET') ?: throw new RuntimeException('set SECRET to the secret of the webhook');
    $key = base64_decode(str_replace('whsec_', '', $secret));
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    $timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (!preg_match('/^\d{1,15}$/D', $timestamp) || abs(time() - (int) $timestamp) > 300) {
        return false;
    }
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    // There are several signatures while the secret is being changed. One that matches is enough.
    foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $given) {
        if (hash_equals($expected, $given)) {
            return true;
        }
    }
    return false;
}

/** Must do no harm if it gets the same changes twice. */
function handle(array $event): void
{
    $output = fopen('php://stdout', 'w');
    $data = $event['data'];
    $last = is_file(LAST_FILE) ? file_get_contents(LAST_FILE) : null;
    $isNext = $last === null || !isset($data['Since']) || in_array($last, [$data['Since'], $data['Next']], true);
    if (isset($data['Since'])) {
        file_put_contents(LAST_FILE, $data['Next']);
    }
    if ($event['type'] === 'storefront.gone' || !$isNext) {
        fwrite($output, "some changes are missing: read the lists again\n");
        return;
    }
    foreach ($data['Changes'] ?? [] as $change) {
        $name = $change['Record']['Name'] ?? '';
        fwrite($output, "{$change['Operation']} {$change['Resource']} {$change['ID']} $name\n");
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
    handle(json_decode($body, true, flags: JSON_THROW_ON_ERROR));
    return 204;
}

// If anything fails, this status stays. PHP's own may be 200, and the changes would be lost.
http_response_code(500);
http_response_code(receive());
