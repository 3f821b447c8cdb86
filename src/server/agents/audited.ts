import { createHash } from 'node:crypto'
import { agentFields, type FieldName, fieldNames } from './fields.ts'
import type { StoredAgent } from './stored-agent.ts'

/**
 * Returns the fields of an agent for the audit log. Long texts are recorded as digest and size; `version` identifies the
 * stored version with the full text.
 */
export const publicFields = (agent: StoredAgent) => ({
  ...Object.fromEntries(fieldNames.map(name => [name, shown(agent, name)])),
  runtime: agent.config['runtime'],
  status: agent.status,
  version: agent.version,
  run_as_key_id: agent.run_as_key_id,
})

function shown(agent: StoredAgent, name: FieldName): unknown {
  const { audit } = agentFields[name]
  const value = agent[name]
  if (audit === 'whole' || value === null) return value
  if (audit === 'digest') return digestOf(typeof value === 'string' ? value : JSON.stringify(value))
  return (audit as (value: unknown) => unknown)(value)
}

/** `bytes` counts UTF-8. */
const digestOf = (text: string) => ({
  sha256: createHash('sha256').update(text).digest('hex'),
  bytes: Buffer.byteLength(text),
})
