import type { WholeEchoes } from '../../platform/echoes.ts'

const mark = '[secret]'

/** Members whose text is a secret by their name, also in JSON inside of JSON. A plain `token` is one of an answer's chances. */
const secretMember =
  /((\\{0,3})"[\w-]*(?:api[_-]?key|authorization|password|passwd|secret|cookie|[a-z][_-]token)\2"\s*:\s*\2")(?:[^"\\]|\\.)*?(?=\2"|$)/gis

/**
 * What secrets look like under any name: keys, header values, private keys. Bodies are JSON: behind a line break stands the `n` of
 * its escape, so a word may begin there too.
 */
const secretText =
  /(?:\b|(?<=\\[bfnrt])|(?<=\\u[\da-fA-F]{4}))(?:sk-[\w-]{12,}|(?:Bearer|Basic)\s+[\w+/.~=-]{8,})|-----BEGIN [A-Z ]*PRIVATE KEY-----[\w+/=\\\s]*(?:-----END [A-Z ]*PRIVATE KEY-----)?/g

/**
 * A body without credentials: those of the configured providers, in all their writings, and whatever looks like one. It rather
 * leaves out too much. Its length bounds what it costs.
 */
export const redacted = (text: string, echoes: WholeEchoes): string =>
  echoes.withoutCutEnd(echoes.without(text)).replaceAll(secretMember, `$1${mark}`).replaceAll(secretText, mark)
