/**
 * Requirement of each `pattern` of the contract, as the rest of a sentence that begins with the name of the field. Callers never
 * see a regular expression.
 */
export const patternWords: Readonly<Record<string, string>> = {
  '\\S': 'must not be blank',
  '^[A-Za-z0-9_-]{1,200}$': 'must be 1 to 200 letters, digits, _ or -',
  '^[A-Za-z0-9_-]{1,64}$': 'must be 1 to 64 letters, digits, _ or -',
  '^[a-z_]+[.]([a-z_]+|[*])$': 'must be an action such as key.create or key.*',
  '^[0-9]{1,15}$': 'must be a whole number',
  '^[1-9][0-9]{0,3}(s|m|h|d|w|mo)$': 'must be a number and s, m, h, d, w or mo, such as 30d',
  '^(0|[1-9][0-9]{0,3})(s|m|h|d|w|mo)$': 'must be a number and s, m, h, d, w or mo, such as 24h',
  '^(0|[1-9][0-9]{0,3})(s|m|h|d)$': 'must be a number and s, m, h or d, such as 24h',
  '^[1-9][0-9]{0,6}(s|m|h|d)$': 'must be a number and s, m, h or d, such as 1h',
  '^[1-9][0-9]{0,3}(h|d|w|mo)$': 'must be a number and h, d, w or mo, such as 30d',
  '^https?://': 'must be an http or https address',
  '^[0-9a-fA-F]{7,64}$': 'must be the hash of a commit: 7 to 64 hexadecimal digits',
  '^[1-9][0-9]{0,13}$': 'must be a whole number above 0 in quotes, such as "2500"',
  '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$':
    'must be a time with its zone, such as 2026-01-31T12:00:00Z',
  '^[0-9]+([.][0-9]+)?$': 'must be an amount of US dollars, such as "1.25"',
  '^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}$': 'must be 1 to 200 letters, digits, _, . or -, and not begin with a dot',
  '^([a-z][a-z0-9_]*[.])*([a-z][a-z0-9_]*|[*])$': 'must be a type of event, such as session.status_idle or agent.*',
  '^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$': 'must be the name of a header: letters, digits, _ and -',
  '^[A-Za-z0-9_@$-]+(?:[.][A-Za-z0-9_@$-]+){0,31}$': 'must be a field such as issue.labels.0.name',
  '^(admin|user|link|key_[A-Za-z0-9_-]{1,100})$': 'must be "admin", "user", "link" or the id of a key',
  '^https?://[^\\s?#]+$': 'must be an http or https address without a query',
  '^[1-5]([0-9]{2}|xx)$': 'must be an HTTP status such as 429, or 5xx',
  '^.{1,64}$': 'must be 1 to 64 characters',
  '^[^\\u0000-\\u001f]+$': 'must not be empty or contain control characters',
  '^[\\x21-\\x7e]+$': 'must be printable ASCII characters without spaces',
  '^[^\\u0000-\\u001f\\u007f]*\\S[^\\u0000-\\u001f\\u007f]*$': 'must not be blank, and have no control characters',
  '^/(.*/)?$': 'must begin and end with /',
  '^[0-9a-f]{64}$': 'must be a SHA-256 hash: 64 hexadecimal digits in lower case',
  '^[^\\s@]+@[^\\s@]+$': 'must be an email address, such as ada@example.com',
}
