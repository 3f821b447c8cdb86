import { createHash } from 'node:crypto'
import type { StoredAgent } from './store.ts'

/**
 * What the audit log keeps of an agent. Prompts, tools and settings are told by digest and size alone: they can be long,
 * and nobody should find a prompt, or a secret that a setting holds, in a log. `version` says where the text itself is.
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

/** The size is in bytes of UTF-8. */
const digestOf = (text: string) => ({
  sha256: createHash('sha256').update(text).digest('hex'),
  bytes: Buffer.byteLength(text),
})
