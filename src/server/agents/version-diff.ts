import { isDeepStrictEqual } from 'node:util'
import type { Agent, AgentFieldChange } from '../../contract/agents.ts'
import { lineDiff } from '../platform/line-diff.ts'

/** Returns the fields that differ between two versions; texts also line by line, `config` by its keys. */
export function versionDiff(from: Agent, to: Agent): AgentFieldChange[] {
  return changedFields(asFields(from), asFields(to)).map(({ field, before, after }) => ({
    field,
    before,
    after,
    ...(isText(field) && { lines: lineDiff(String(before ?? ''), String(after ?? '')) }),
  }))
}

const isText = (field: string): boolean => field === 'system' || field === 'description'

type Fields = ReadonlyMap<string, unknown>

/** Fields to compare: without those that differ in every version, or never change. */
function asFields({ name, owner_id, model, system, description, harness, status, tools, config }: Agent): Fields {
  const plain = { name, owner_id, model, system, description, harness, status, tools }
  const settings = Object.entries(config).map(([key, value]) => [`config.${key}`, value] as const)
  return new Map([...Object.entries(plain), ...settings])
}

function changedFields(from: Fields, to: Fields) {
  return [...new Set([...from.keys(), ...to.keys()])].flatMap(field => {
    const [before, after] = [from.get(field) ?? null, to.get(field) ?? null]
    return isDeepStrictEqual(before, after) ? [] : [{ field, before, after }]
  })
}
