import type { Names } from '../../data/names.ts'
import type { CallFilters } from '../../parts/call-filters.ts'
import { shortId } from '../../parts/format.ts'
import type { Grouping } from './view.ts'

/** Values of the dimensions of a group, as in a report. */
export type GroupValues = Readonly<Record<string, string | null>>

/** A grouping whose groups are series of a chart. */
export type SeriesGrouping = Exclude<Grouping, 'day' | 'hour' | 'tool'>

export const isSeriesGrouping = (grouping: Grouping): grouping is SeriesGrouping =>
  grouping !== 'day' && grouping !== 'hour' && grouping !== 'tool'

/** Dimensions of the API for a grouping. Versions are numbers, which mean something only with their agent. */
export const dimensionsOf = (grouping: Grouping): readonly string[] =>
  grouping === 'version' ? ['agent', 'version'] : [grouping]

const absent: Readonly<Record<SeriesGrouping, string>> = {
  model: 'no model',
  key: 'no key (master key)',
  owner: 'no owner',
  agent: 'no agent',
  version: 'no agent',
  provider: 'no provider',
  deployment: 'no deployment',
  session: 'no session',
  outcome: 'no outcome',
}

/** Returns the name of a group for people. */
export function groupName(grouping: SeriesGrouping, by: GroupValues, names: Names): string {
  const value = by[grouping]
  if (grouping === 'version') return versionName(by, names)
  if (value === null || value === undefined || value === '') return absent[grouping]
  if (grouping === 'key') return names.keys.get(value) ?? shortId(value)
  if (grouping === 'agent') return names.agents.get(value) ?? shortId(value)
  return grouping === 'session' ? shortId(value) : value
}

function versionName({ agent = null, version = null }: GroupValues, names: Names): string {
  if (agent === null) return absent.version
  const name = names.agents.get(agent) ?? shortId(agent)
  return version === null ? `${name}, version unknown` : `${name}, version ${version}`
}

/** Identity of a group, which names may share. */
export const groupId = (grouping: Grouping, by: GroupValues): string =>
  JSON.stringify(dimensionsOf(grouping).map(dimension => by[dimension] ?? null))

/** Returns the filters that narrow a report to a group; undefined for a group of calls without a value. */
export function filtersOfGroup(grouping: SeriesGrouping, by: GroupValues): CallFilters | undefined {
  const value = by[grouping]
  if (value === null || value === undefined || value === '') return undefined
  switch (grouping) {
    case 'key':
      return { key_id: value }
    case 'owner':
      return { owner_id: value }
    case 'agent':
      return { agent_id: value }
    case 'session':
      return { session_id: value }
    case 'version':
      return by['agent'] ? { agent_id: by['agent'], agent_version: value } : undefined
    case 'model':
    case 'provider':
    case 'deployment':
    case 'outcome':
      return { [grouping]: value }
  }
}
