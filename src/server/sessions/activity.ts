import type { SessionActivity } from '../../contract/session-summaries.ts'

/** One of the last events of a session. */
export interface TailEvent {
  readonly type: string
  /** In RFC 3339. */
  readonly at: string
  /** Start of its payload as JSON, which may be cut anywhere. */
  readonly head: string
}

export interface ActivityFacts {
  readonly isDeleted: boolean
  readonly hasFailed: boolean
  /** The prompt that runs, or the first that waits; undefined without any. */
  readonly prompt: { readonly state: 'waiting' | 'running'; readonly since: string | null } | undefined
  /** What the prompt waits for; undefined when it waits for nothing but its turn. */
  readonly wait: { readonly kind: WaitKind; readonly since: string; readonly until: string | null } | undefined
  /** The last events, newest first. */
  readonly tail: readonly TailEvent[]
}

export type WaitKind = Extract<
  SessionActivity['kind'],
  'approval' | 'custom_tool' | 'subagent' | 'retry' | 'budget' | 'freeze'
>

const nothing = { name: null, since: null, until: null, reason: null, message: null } as const
const maxMessage = 500

/** Returns what a session does now, as far as its last events show it. */
export function activityOf({ isDeleted, hasFailed, prompt, wait, tail }: ActivityFacts): SessionActivity {
  if (isDeleted) return { ...nothing, kind: 'deleted' }
  if (wait) {
    const name = wait.kind === 'approval' || wait.kind === 'custom_tool' ? openTool(tail)?.name : undefined
    return { ...nothing, kind: wait.kind, name: name ?? null, since: wait.since, until: wait.until }
  }
  if (prompt?.state === 'waiting') return { ...nothing, kind: 'queued', since: prompt.since }
  if (prompt) return runningActivity(prompt.since, tail)
  const end = tail.find(({ type }) => type === (hasFailed ? 'session.error' : 'session.status_idle'))
  const { reason, message } = end ? endOf(end) : nothing
  return { ...nothing, kind: hasFailed ? 'failed' : 'idle', since: end?.at ?? null, reason, message }
}

function runningActivity(since: string | null, tail: readonly TailEvent[]): SessionActivity {
  const tool = openTool(tail)
  if (tool) return { ...nothing, kind: 'tool', ...tool }
  const last = tail.find(({ type }) => type.startsWith('span.model_request_') || type.startsWith('agent.'))
  if (last?.type === 'span.model_request_start') return { ...nothing, kind: 'model', since: last.at }
  const begin = tail.find(({ type }) => type === 'session.status_running')
  const hasBegun = last !== undefined && (begin === undefined || last.at >= begin.at)
  return hasBegun ? { ...nothing, kind: 'working', since: last.at } : { ...nothing, kind: 'starting', since }
}

/** Returns the oldest tool call of the last step without a result. */
function openTool(tail: readonly TailEvent[]): { readonly name: string | null; readonly since: string } | undefined {
  const answered = new Set<string>()
  let open: { name: string | null; since: string } | undefined
  for (const { type, at, head } of tail) {
    if (type === 'span.model_request_start') return open
    const id = fieldIn(head, 'tool_use_id') ?? fieldIn(head, 'mcp_tool_use_id') ?? fieldIn(head, 'custom_tool_use_id')
    if (isResult(type) && id !== undefined) answered.add(id)
    if (isUse(type) && !(id !== undefined && answered.has(id))) open = { name: nameIn(head), since: at }
  }
  return open
}

const isUse = (type: string): boolean => /^agent\.(mcp_|custom_)?tool_use$/.test(type)
const isResult = (type: string): boolean => /^(agent|user)\.(mcp_|custom_)?tool_result$/.test(type)

function nameIn(head: string): string | null {
  const [server, name] = [fieldIn(head, 'mcp_server_name'), fieldIn(head, 'name')]
  return name === undefined || server === undefined ? (name ?? null) : `${server}__${name}`
}

/** Returns a text that is a direct member of the object, before any nested value. */
function fieldIn(head: string, field: string): string | undefined {
  let at = 1
  for (;;) {
    member.lastIndex = at
    const found = member.exec(head)
    if (!found) return undefined
    if (found[1] === field && found[2]?.startsWith('"')) return textOf(found[2])
    at = member.lastIndex
  }
}

const member = /"(\w+)":("(?:[^"\\]|\\.)*"|-?[\d.]+|true|false|null),?/y

const textOf = (json: string): string => String(JSON.parse(json))

/** Returns type and message of the end of a run: of its error, of the details of its stop, or of its stop reason. */
function endOf({ head }: TailEvent): { readonly reason: string | null; readonly message: string | null } {
  const start = ['"error":{', '"stop_details":{', '"stop_reason":{'].find(each => head.includes(each))
  if (start === undefined) return { reason: null, message: null }
  const part = head.slice(head.indexOf(start) + start.length - 1)
  return { reason: fieldIn(part, 'type') ?? null, message: fieldIn(part, 'message')?.slice(0, maxMessage) ?? null }
}
