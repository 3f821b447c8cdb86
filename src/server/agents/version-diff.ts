import { isDeepStrictEqual } from 'node:util'
import type { AgentFieldChange } from '../../contract/agents.ts'
import { lineDiff } from '../platform/line-diff.ts'
import { type ShownRule, shownFields, storedNames } from './fields.ts'
import type { StoredAgent } from './stored-agent.ts'

/** Returns the fields that differ between two versions; texts also line by line, `config` by its keys. */
export const versionDiff = (from: StoredAgent, to: StoredAgent): AgentFieldChange[] =>
  storedNames.flatMap(name => changesOf(name, shownFields[name].diff, [from[name], to[name]]))

type Versions = readonly [from: unknown, to: unknown]

function changesOf(field: string, shown: ShownRule<unknown>['diff'], [from, to]: Versions): AgentFieldChange[] {
  if (shown === 'hidden' || isDeepStrictEqual(from, to)) return []
  if (shown === 'keys') return changedKeys(field, from as object, to as object)
  const lines = shown === 'lines' && { lines: lineDiff(String(from ?? ''), String(to ?? '')) }
  return [{ field, before: from, after: to, ...lines }]
}

function changedKeys(field: string, from: object, to: object): AgentFieldChange[] {
  const [before, after] = [new Map(Object.entries(from)), new Map(Object.entries(to))]
  const keys = new Set([...before.keys(), ...after.keys()])
  return [...keys].flatMap(key =>
    changesOf(`${field}.${key}`, 'whole', [before.get(key) ?? null, after.get(key) ?? null]),
  )
}
