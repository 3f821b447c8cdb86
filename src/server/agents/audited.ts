import { createHash } from 'node:crypto'
import { shownFields, storedNames } from './fields.ts'
import type { StoredAgent } from './stored-agent.ts'

/**
 * Returns the fields of an agent for the audit log. Long texts are recorded as digest and size; `version` identifies the
 * stored version with the full text.
 */
export const publicFields = (agent: StoredAgent) => ({
  ...Object.fromEntries(recorded.map(name => [name, shown(agent, name)])),
  runtime: agent.config['runtime'],
})

const recorded = storedNames.filter(name => shownFields[name].audit !== 'hidden')

function shown(agent: StoredAgent, name: keyof StoredAgent): unknown {
  const { audit } = shownFields[name]
  const value = agent[name]
  if (audit === 'digest')
    return value === null ? null : digestOf(typeof value === 'string' ? value : JSON.stringify(value))
  return typeof audit === 'function' ? (audit as (value: unknown) => unknown)(value) : value
}

/** `bytes` counts UTF-8. */
const digestOf = (text: string) => ({
  sha256: createHash('sha256').update(text).digest('hex'),
  bytes: Buffer.byteLength(text),
})
