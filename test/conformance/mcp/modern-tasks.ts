import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import {
  fromJsonSchema,
  inputRequired,
  ProtocolError,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { formWith, text } from './content.ts'

// The extension io.modelcontextprotocol/tasks for the modern server of the conformance suite. The SDK has no part of it.

const extension = 'io.modelcontextprotocol/tasks'
export const taskExtensions = { [extension]: {} }

type Args = Readonly<Record<string, unknown>>
type ToolResult = ReturnType<typeof text> & { readonly isError?: boolean }
type InputRequest = ReturnType<typeof inputRequired.elicit>

interface Job {
  /** Aborts when the task is cancelled. */
  readonly signal: AbortSignal
  /** Asks the client, and resolves to its answers. */
  readonly ask: (requests: Readonly<Record<string, InputRequest>>) => Promise<Args>
}

/** Work of each tool that can run as a task. */
const jobs: Readonly<Record<string, (args: Args, job: Job) => Promise<ToolResult>>> = {
  async slow_compute({ seconds = 1, label = '' }, { signal }) {
    await setTimeout(Number(seconds) * 1_000, undefined, { signal, ref: false })
    return text(`Computed ${label}`)
  },
  async failing_job() {
    await setTimeout(100)
    return { ...text('The job failed'), isError: true }
  },
  async protocol_error_job() {
    throw new ProtocolError(-32_603, 'the job broke')
  },
  async confirm_delete({ filename }, { ask }) {
    const { confirm } = await ask({ confirm: elicit(`Delete ${filename}?`, 'confirm', 'boolean') })
    return text(`Confirmed: ${JSON.stringify(confirm)}`)
  },
  async multi_input(_args, { ask }) {
    return text(JSON.stringify(await ask({ first: elicit('First?', 'value'), second: elicit('Second?', 'value') })))
  },
  test_tool_with_task: async ({ user_name }) => text(`Hello, ${user_name}!`),
}

const elicit = (message: string, field: string, type = 'string'): InputRequest =>
  inputRequired.elicit({ message, requestedSchema: formWith(field, type) as never })

export const taskTools = ['greet', ...Object.keys(jobs)]

/** Tools that a client without the extension cannot call. */
const needsTask: ReadonlySet<string> = new Set(['failing_job', 'confirm_delete', 'multi_input', 'test_tool_with_task'])

interface Task {
  readonly cancel: AbortController
  readonly view: Record<string, unknown>
  /** Open questions, with what their answers do. */
  readonly open: Map<string, { readonly request: InputRequest; readonly answer: (value: unknown) => void }>
}

/** Tasks of the server, over all requests. */
export function createTasks() {
  const tasks = new Map<string, Task>()

  function started(name: string, args: Args): Task {
    const now = new Date().toISOString()
    const task: Task = {
      cancel: new AbortController(),
      open: new Map(),
      view: {
        taskId: randomUUID(),
        status: 'working',
        createdAt: now,
        lastUpdatedAt: now,
        ttlMs: 600_000,
        pollIntervalMs: 50,
      },
    }
    tasks.set(String(task.view['taskId']), task)
    const end = (status: string, more: object) => {
      if (task.view['status'] !== 'cancelled') Object.assign(task.view, { status, ...more })
    }
    const ask: Job['ask'] = async requests => {
      const answers = Object.entries(requests).map(
        ([key, request]) =>
          new Promise<readonly [string, unknown]>(resolve =>
            task.open.set(key, { request, answer: value => resolve([key, value]) }),
          ),
      )
      task.view['status'] = 'input_required'
      const given = Object.fromEntries(await Promise.all(answers))
      task.view['status'] = 'working'
      return given
    }
    jobs[name]?.(args, { signal: task.cancel.signal, ask }).then(
      result => end('completed', { result }),
      (error: unknown) =>
        end('failed', { error: { code: -32_603, message: error instanceof Error ? error.message : 'failed' } }),
    )
    return task
  }

  function taskOf(context: ServerContext, taskId: unknown): Task {
    requireExtension(context)
    const header = context.http?.req?.headers.get('mcp-name')
    if (header !== undefined && header !== null && header !== taskId)
      throw new ProtocolError(-32_020, 'header mcp-name differs from the body')
    const task = tasks.get(String(taskId))
    if (!task) throw new ProtocolError(-32_602, 'unknown task')
    return task
  }

  return {
    /** Returns the result of a call, or its task; undefined for a tool without tasks. */
    async called(name: string, args: Args, context: ServerContext): Promise<object | undefined> {
      if (name === 'greet') return text(`Hello, ${args['name']}!`)
      const job = jobs[name]
      if (!job) return undefined
      const hasTasks = supportsTasks(context)
      if (!hasTasks && needsTask.has(name)) requireExtension(context)
      const never = () => Promise.reject(new ProtocolError(-32_603, 'a call without a task cannot ask'))
      if (!hasTasks) return job(args, { signal: context.mcpReq.signal, ask: never })
      const answers = context.mcpReq.inputResponses as Readonly<Record<string, { content?: Args }>> | undefined
      if (name === 'test_tool_with_task' && !answers?.['user_name'])
        return inputRequired({ inputRequests: { user_name: elicit('Your name?', 'name') } })
      const known = name === 'test_tool_with_task' ? { user_name: answers?.['user_name']?.content?.['name'] } : args
      return { resultType: 'task', ...started(name, known).view }
    },

    /** Serves the methods of tasks. */
    serve(server: Server): void {
      const params = fromJsonSchema<{ taskId: string }>({
        type: 'object',
        properties: { taskId: { type: 'string' } },
        required: ['taskId'],
      })
      server.setRequestHandler('tasks/get', { params }, ({ taskId }, context) => {
        const { view, open } = taskOf(context, taskId)
        const inputRequests = Object.fromEntries([...open].map(([key, { request }]) => [key, request]))
        return { ...view, ...(view['status'] === 'input_required' && { inputRequests }) }
      })
      server.setRequestHandler('tasks/update', { params }, ({ taskId }, context) => {
        const { open } = taskOf(context, taskId)
        for (const [key, value] of Object.entries(context.mcpReq.inputResponses ?? {})) {
          open.get(key)?.answer(value)
          open.delete(key)
        }
        return {}
      })
      server.setRequestHandler('tasks/cancel', { params }, ({ taskId }, context) => {
        const { view, cancel } = taskOf(context, taskId)
        if (view['status'] === 'working' || view['status'] === 'input_required') view['status'] = 'cancelled'
        cancel.abort()
        return {}
      })
    },
  }
}

const supportsTasks = ({ mcpReq }: ServerContext): boolean => {
  const envelope = mcpReq.envelope as Record<string, { extensions?: object }> | undefined
  return extension in (envelope?.['io.modelcontextprotocol/clientCapabilities']?.extensions ?? {})
}

function requireExtension(context: ServerContext): void {
  if (supportsTasks(context)) return
  throw new ProtocolError(-32_021, `client capability ${extension} is required`, {
    requiredCapabilities: { extensions: taskExtensions },
  })
}
