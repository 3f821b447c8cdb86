import { createHash } from 'node:crypto'
import type { StoredAgent } from './store.ts'

/**
 * Returns the fields of an agent for the audit log. Prompts, tools and settings are recorded as digest and size: they
 * can be long, and may contain a secret. `version` identifies the stored version with the full text.
 */
export const publicFields = ({
  id: _id,
  system,
  description,
  tools,
  config,
  skills,
  created_at: _at,
  ...fields
}: StoredAgent) => ({
  ...fields,
  skills: skills.map(({ id }) => id),
  runtime: config['runtime'],
  system: digestOf(system),
  description: description === null ? null : digestOf(description),
  tools: digestOf(JSON.stringify(tools)),
  config: digestOf(JSON.stringify(config)),
})

/** `bytes` counts UTF-8. */
const digestOf = (text: string) => ({
  sha256: createHash('sha256').update(text).digest('hex'),
  bytes: Buffer.byteLength(text),
})
