import { createHash } from 'node:crypto'

const fingerprint = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8)

/** `id` as Anthropic's format allows ids of calls. The same for equal ids, so that call and result still meet. */
export const toolCallId = (id: string): string =>
  /^[a-zA-Z0-9_-]+$/.test(id) ? id : `${id.replaceAll(/[^a-zA-Z0-9_-]/g, '_')}_${fingerprint(id)}`

/** `name` as Anthropic's format allows names of tools; one inside a namespace carries that in front. */
export function toolName(name: string, namespace?: string): string {
  const full = namespace === undefined ? name : `${namespace}__${name}`
  if (/^[a-zA-Z0-9_-]{1,128}$/.test(full)) return full
  return `${full.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 110)}_${fingerprint(full)}`
}
