<?php

declare(strict_types=1);

/** Content that has no fingerprint here; the message says where and why. */
final class PayloadException extends InvalidArgumentException
{
}

/** Read a JSON body so that objects stay objects: {} and [] are two contents. */
function read_json(string $body): mixed
{
    try {
        return json_decode($body, false, 64, JSON_THROW_ON_ERROR);
    } catch (JsonException $error) {
        throw new PayloadException("the body is no JSON: {$error->getMessage()}");
    }
}

/** Fingerprint v1: SHA-256 of the canonical JSON, 64 hex digits. */
function fingerprint(mixed $content): string
{
    return hash('sha256', canonical($content));
}

/** A keyed digest for each top-level field: later these say which field differs, and never what it held. */
function field_digests(mixed $content, string $secret): array
{
    $digests = [];
    foreach ($content instanceof stdClass ? (array) $content : ['' => $content] as $name => $value) {
        $name = (string) $name;
        $digests[$name] = hash_hmac('sha256', pack('J', strlen($name)) . $name . canonical($value), $secret);
    }
    return $digests;
}

/** Canonical JSON v1: names by code point, no blanks, text as it is, whole numbers only. */
function canonical(mixed $value, string $path = ''): string
{
    return match (true) {
        $value === null => 'null',
        is_bool($value) => $value ? 'true' : 'false',
        is_int($value) => (string) $value,
        is_string($value) => canonical_text($value, $path),
        is_array($value) => canonical_list($value, $path),
        $value instanceof stdClass => canonical_object($value, $path),
        // PHP has rounded it already: 0.1 and 9007199254740993.0 are no longer what was sent.
        default => throw new PayloadException("a number at '$path' is not whole or too large: send it as text"),
    };
}

function canonical_text(string $text, string $path): string
{
    $flags = JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_LINE_TERMINATORS | JSON_THROW_ON_ERROR;
    try {
        return json_encode($text, $flags);
    } catch (JsonException) {
        throw new PayloadException("the text at '$path' is not UTF-8");
    }
}

function canonical_list(array $items, string $path): string
{
    return '[' . implode(',', array_map(fn ($item) => canonical($item, $path), $items)) . ']';
}

function canonical_object(stdClass $object, string $path): string
{
    $fields = (array) $object;
    // Bytes of UTF-8 sort as code points do; the flag keeps "10" from being a number.
    ksort($fields, SORT_STRING);
    $written = [];
    foreach ($fields as $name => $value) {
        $written[] = canonical_text((string) $name, $path) . ':' . canonical($value, ltrim("$path.$name", '.'));
    }
    return '{' . implode(',', $written) . '}';
}
