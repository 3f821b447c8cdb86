import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { CsvFormat, GroupLimit, Nullable, rangeQuery, reportScope, Timezone, VersionNumber } from './schemas.ts'

/** Dimensions of a report on tool calls. */
export const toolDimensions = ['tool', 'owner', 'agent', 'version', 'session', 'day', 'hour'] as const
export type ToolDimension = (typeof toolDimensions)[number]

const Figures = {
  calls: Type.Integer({ description: 'Calls that have their result' }),
  failed_calls: Type.Integer({
    description: 'Calls whose result is an error, also those that were denied or interrupted',
  }),
  ms: Type.Object(
    { p50: Nullable(Type.Number()), p95: Nullable(Type.Number()) },
    { description: 'From the call in the log to its result, without calls that a person approved' },
  ),
  total_ms: Type.Number({ description: 'Time of all these calls' }),
}

const ToolFigures = named('ToolFigures', Type.Object(Figures))
export type ToolFigures = Static<typeof ToolFigures>

const ToolGroup = named(
  'ToolGroup',
  Type.Object({
    by: Type.Record(Type.String(), Nullable(Type.String()), {
      description: 'A value for each dimension of `group_by`; tools of MCP servers are `server__tool`',
    }),
    ...Figures,
  }),
)
export type ToolGroup = Static<typeof ToolGroup>

const Filter = Type.Optional(Type.String({ minLength: 1, maxLength: 300 }))

export const toolUsage = route({
  id: 'usage.tools',
  method: 'GET',
  path: '/api/usage/tools',
  access: 'key',
  errorShape: 'nested',
  hasCsv: true,
  query: Type.Object({
    ...rangeQuery,
    timezone: Timezone,
    format: CsvFormat,
    tool: Type.Optional(
      Type.String({ minLength: 1, maxLength: 300, description: 'Only calls of the tool with this name' }),
    ),
    owner_id: Filter,
    agent_id: Filter,
    session_id: Filter,
    agent_version: Type.Optional(VersionNumber()),
    group_by: Type.Optional(
      Type.String({
        maxLength: 100,
        description: `Up to 3 dimensions, separated by commas: ${toolDimensions.join(', ')}; \`tool\` by default`,
      }),
    ),
    limit: GroupLimit,
  }),
  responses: {
    200: Type.Object({
      ...reportScope,
      totals: ToolFigures,
      groups: Type.Array(ToolGroup, { description: 'Ordered by time, oldest first, then by calls, most first' }),
      has_more: Type.Boolean({ description: 'True when there are more groups than `limit`' }),
    }),
  },
  summary: 'Report tool calls',
  description:
    'Sums tool calls of sessions and their time, grouped by up to three dimensions. The service keeps calls for 30 days. Scoped keys see those of their owner.',
})
