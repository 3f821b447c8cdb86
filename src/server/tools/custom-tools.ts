import { isRecord, type Json } from '../platform/json.ts'
import { failureResult, type ToolResult } from './tool.ts'
import { searchName } from './tool-search.ts'
import type { AwaitedResult, AwaitedTool, ToolSource } from './tool-source.ts'
import { isBuiltinName } from './toolset.ts'

/** A tool that a client of the service runs. */
export interface CustomTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: Json
  /** Seconds after which a call without an answer fails. */
  readonly timeoutSeconds: number
}

/** How a call of a custom tool ended. */
export type CustomToolEnd = ({ readonly state: 'answered' } & ToolResult) | { readonly state: 'expired' | 'cancelled' }

/** Seconds a call waits for its answer unless the tool or its agent states another time. */
export const defaultTimeoutSeconds = 86_400
/** 7 days, the longest wait that an agent can set. */
export const maxTimeoutSeconds = 604_800
/** Each request to the model contains all tools. */
export const maxCustomTools = 128
const maxDescription = 10_000

/** Returns the entries of an agent's `tools` that declare custom tools. */
export function customEntries(agentTools: unknown): readonly Json[] {
  const entries = Array.isArray(agentTools) ? agentTools : [agentTools]
  return entries.filter(isRecord).filter(({ type }) => type === 'custom')
}

/** Returns the custom tools of an agent. `config` is that of the agent. */
export function customTools(agentTools: unknown, config: Json): CustomTool[] {
  return customEntries(agentTools).map(({ name, description, input_schema: schema, timeout_seconds: own }) => ({
    name: String(name),
    description: typeof description === 'string' ? description : '',
    inputSchema: isRecord(schema) ? schema : { type: 'object' },
    timeoutSeconds: timeoutOf(own, config),
  }))
}

/** `own` is the setting of the tool. */
const timeoutOf = (own: unknown, { custom_tool_timeout_seconds: ofAgent }: Json): number =>
  [own, ofAgent].find(seconds => typeof seconds === 'number') ?? defaultTimeoutSeconds

/** A problem of an entry, worded to follow `field`, which is a path within the entry. */
export interface EntryProblem {
  readonly field: string
  readonly problem: string
}

/**
 * Returns the first problem of an entry that declares a custom tool. `others` are the names of the custom tools before
 * it. Whether the schema is a valid JSON Schema is checked elsewhere.
 */
export function customEntryProblem(entry: Json, others: readonly unknown[]): EntryProblem | undefined {
  const { name, description, input_schema: schema, timeout_seconds: seconds } = entry
  if (typeof name !== 'string' || !/^[A-Za-z0-9_-]{1,128}$/.test(name))
    return { field: '.name', problem: 'must have 1 to 128 letters, digits, underscores and hyphens' }
  if (isBuiltinName(name) || name === searchName)
    return { field: '.name', problem: `${name} is the name of a built-in tool; choose another name` }
  if (others.includes(name)) return { field: '.name', problem: `${name} is already used by another custom tool` }
  if (others.length >= maxCustomTools)
    return { field: '', problem: `is one too many: an agent may have at most ${maxCustomTools} custom tools` }
  if (isGiven(description) && (typeof description !== 'string' || description.length > maxDescription))
    return { field: '.description', problem: `must be a text of at most ${maxDescription} characters` }
  if (!isRecord(schema) || schema['type'] !== 'object')
    return { field: '.input_schema', problem: 'must be a JSON Schema object with "type": "object"' }
  if (isGiven(seconds) && !(Number.isInteger(seconds) && Number(seconds) >= 1 && Number(seconds) <= maxTimeoutSeconds))
    return { field: '.timeout_seconds', problem: `must be a whole number from 1 to ${maxTimeoutSeconds}` }
  return undefined
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

interface CustomCalls {
  /** Returns how a call ended, and parks the run while it has not. */
  readonly endOf: (eventId: string) => Promise<CustomToolEnd | undefined>
  /** Returns why arguments do not match a schema; undefined if they do. */
  readonly mismatch: (schema: Json, input: Json) => Promise<string | undefined>
}

/** Returns the source of custom tools. */
export function customSource(tools: readonly CustomTool[], { endOf, mismatch }: CustomCalls): ToolSource {
  return {
    name: 'custom tools',
    list: async () =>
      tools.map(tool => ({ ...clientTool(tool, endOf), mismatch: input => mismatch(tool.inputSchema, input) })),
  }
}

/**
 * Returns a tool that stands for those which a client was asked to run and which are no longer offered: a front-end may
 * leave out a tool in the input that has its result. `config` is that of the agent.
 */
export function removedTool(config: Json, endOf: CustomCalls['endOf']): AwaitedTool {
  const timeoutSeconds = timeoutOf(undefined, config)
  return clientTool({ name: 'removed_tool', description: '', inputSchema: { type: 'object' }, timeoutSeconds }, endOf)
}

function clientTool({ timeoutSeconds, ...tool }: CustomTool, endOf: CustomCalls['endOf']): AwaitedTool {
  return {
    ...tool,
    policy: 'allow',
    // What a client does is unknown, so it counts as a change.
    reads: false,
    idempotent: false,
    use: { type: 'agent.custom_tool_use', timeout_seconds: timeoutSeconds },
    async result(eventId) {
      const end = await endOf(eventId)
      return end && resultOf(end, timeoutSeconds)
    },
  }
}

function resultOf(end: CustomToolEnd, timeoutSeconds: number): AwaitedResult {
  switch (end.state) {
    case 'answered':
      return { content: end.content, is_error: end.is_error, isLogged: true }
    case 'expired':
      return { ...failureResult(`no client answered the call within ${timeoutSeconds} s`), isLogged: false }
    case 'cancelled':
      return { ...failureResult('the run was stopped before a client answered'), isLogged: false }
  }
}
