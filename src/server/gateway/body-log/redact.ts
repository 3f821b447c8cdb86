import type { WholeEchoes } from '../../platform/echoes.ts'

const mark = '[secret]'

/**
 * Members whose name denotes a secret, also in JSON inside a JSON string. Plain `token` is excluded: log probabilities
 * use it.
 */
const secretMember =
  /((\\{0,3})"[\w-]*(?:api[_-]?key|authorization|password|passwd|secret|cookie|[a-z][_-]token)\2"\s*:\s*\2")(?:[^"\\]|\\.)*?(?=\2"|$)/gis

/**
 * Patterns of secrets under any name: keys, header values, private keys. Bodies are JSON, where a line break is the
 * escape `\n`, so a word may begin after its `n`.
 */
const secretText =
  /(?:\b|(?<=\\[bfnrt])|(?<=\\u[\da-fA-F]{4}))(?:sk-[\w-]{12,}|(?:Bearer|Basic)\s+[\w+/.~=-]{8,})|-----BEGIN [A-Z ]*PRIVATE KEY-----[\w+/=\\\s]*(?:-----END [A-Z ]*PRIVATE KEY-----)?/g

/**
 * Returns a body without credentials: those of the configured providers, in all encodings, and text that looks like
 * one. May remove too much. Takes time in proportion to the length.
 */
export const redacted = (text: string, echoes: WholeEchoes): string =>
  echoes.withoutCutEnd(echoes.without(text)).replaceAll(secretMember, `$1${mark}`).replaceAll(secretText, mark)
