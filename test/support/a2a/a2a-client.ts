import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Target } from '../service/send.ts'

export interface Part {
  readonly content?: { readonly $case: 'text' | 'data' | 'raw' | 'url'; readonly value: unknown }
}

export interface Message {
  readonly messageId: string
  readonly role: number
  readonly parts: readonly Part[]
}

/** A task as the package reads it: states are numbers. */
export interface Task {
  readonly id: string
  readonly contextId: string
  readonly status?: { readonly state: number; readonly message?: Message; readonly timestamp?: string }
  readonly artifacts: readonly { readonly artifactId: string; readonly parts: readonly Part[] }[]
  readonly history: readonly Message[]
}

export interface Frame {
  readonly payload?:
    | { readonly $case: 'task'; readonly value: Task }
    | { readonly $case: 'statusUpdate'; readonly value: { readonly status: NonNullable<Task['status']> } }
    | { readonly $case: 'artifactUpdate'; readonly value: ArtifactUpdate }
}

export interface ArtifactUpdate {
  readonly artifact: Task['artifacts'][number]
  readonly append: boolean
  readonly lastChunk: boolean
}

export interface PushConfig {
  readonly id: string
  readonly taskId: string
  readonly url: string
  readonly token: string
  readonly authentication?: { readonly scheme: string; readonly credentials: string }
}

interface Options {
  readonly signal?: AbortSignal
}

/** The part of the official client that the tests use. */
export interface A2aClient {
  readonly protocolVersion: string
  sendMessage(request: object, options?: Options): Promise<Task>
  sendMessageStream(request: object, options?: Options): AsyncGenerator<Frame>
  getTask(request: { readonly id: string; readonly historyLength?: number }): Promise<Task>
  listTasks(request: object): Promise<{
    readonly tasks: readonly Task[]
    readonly nextPageToken: string
    readonly totalSize: number
  }>
  cancelTask(request: { readonly id: string }): Promise<Task>
  resubscribeTask(request: { readonly id: string }, options?: Options): AsyncGenerator<Frame>
  createTaskPushNotificationConfig(config: object): Promise<PushConfig>
  getTaskPushNotificationConfig(request: object): Promise<PushConfig>
  listTaskPushNotificationConfig(request: object): Promise<{ readonly configs: readonly PushConfig[] }>
  deleteTaskPushNotificationConfig(request: object): Promise<void>
}

interface Module {
  readonly ClientFactory: new (options: object) => { createFromUrl(url: string, path?: string): Promise<A2aClient> }
  readonly JsonRpcTransportFactory: new (options: object) => object
  readonly RestTransportFactory: new (options: object) => object
  readonly DefaultAgentCardResolver: new (options: object) => object
}

const root = join(import.meta.dirname, '../../clients/node_modules/@a2a-js/sdk/dist')

async function imported<T>(path: string): Promise<T> {
  const file = join(root, path)
  if (!existsSync(file)) throw new Error(`@a2a-js/sdk is missing at ${file}: run "npm ci" in test/clients`)
  return (await import(pathToFileURL(file).href)) as T
}

export type Binding = 'JSONRPC' | 'HTTP+JSON'

/** Returns the official client of an agent, from its card. */
export async function a2aClient({ url, key = '' }: Target, agent: string, binding: Binding): Promise<A2aClient> {
  const sdk = await imported<Module>('client/index.js')
  const fetchImpl: typeof fetch = (address, init) => {
    const headers = new Headers(init?.headers)
    headers.set('authorization', `Bearer ${key}`)
    return fetch(address, { ...init, headers })
  }
  const factory = new sdk.ClientFactory({
    transports: [new sdk.JsonRpcTransportFactory({ fetchImpl }), new sdk.RestTransportFactory({ fetchImpl })],
    preferredTransports: [binding],
    cardResolver: new sdk.DefaultAgentCardResolver({ fetchImpl }),
  })
  return factory.createFromUrl(`${url}/a2a/${agent}/`)
}

type TaskStates = Readonly<Record<string, number>>

/** Returns the name of a state without its prefix: `COMPLETED`. */
export async function stateNames(): Promise<(state: number | undefined) => string> {
  const { TaskState } = await imported<{ readonly TaskState: TaskStates & Readonly<Record<number, string>> }>(
    'index.js',
  )
  return state => String(TaskState[state ?? -1] ?? assert.fail(`no state ${state}`)).replace('TASK_STATE_', '')
}

/** Returns the parameters of a message of these texts. */
export const messageOf = (text: string, more: object = {}, configuration?: object) => ({
  message: {
    messageId: crypto.randomUUID(),
    contextId: '',
    taskId: '',
    role: 1,
    parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...more,
  },
  ...(configuration && { configuration: { acceptedOutputModes: [], returnImmediately: false, ...configuration } }),
  metadata: undefined,
  tenant: '',
})

/** Returns all text of a task's artifacts. */
export const resultOf = ({ artifacts }: Pick<Task, 'artifacts'>): string =>
  artifacts.flatMap(({ parts }) => parts.map(({ content }) => String(content?.value))).join('\n')

/** Returns the artifacts of a task after the updates of a stream, by the rules of A2A. */
export function applied(artifacts: Task['artifacts'], { artifact, append }: ArtifactUpdate): Task['artifacts'] {
  const before = artifacts.find(({ artifactId }) => artifactId === artifact.artifactId)
  if (!before) return [...artifacts, artifact]
  const parts = append ? joined([...before.parts, ...artifact.parts]) : artifact.parts
  return artifacts.map(each => (each === before ? { ...artifact, parts } : each))
}

/** Joins the texts of an artifact, which may come in pieces. */
const joined = (parts: readonly Part[]): readonly Part[] => [
  { content: { $case: 'text', value: parts.map(({ content }) => String(content?.value)).join('') } },
]
