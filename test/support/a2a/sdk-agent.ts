import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { onLoopback } from '../service/on-loopback.ts'

interface Received {
  readonly taskId: string
  readonly contextId: string
  readonly task?: object
  readonly userMessage: {
    readonly messageId: string
    readonly parts: readonly { readonly content?: { readonly $case: string; readonly value: unknown } }[]
  }
}

interface Bus {
  publish(event: unknown): void
  finished(): void
}

interface ServerModule {
  readonly DefaultRequestHandler: new (card: object, store: object, executor: object) => object
  readonly InMemoryTaskStore: new () => object
  readonly AgentEvent: Readonly<
    Record<'message' | 'task' | 'statusUpdate' | 'artifactUpdate', (data: object) => unknown>
  >
}

interface ExpressModule {
  readonly agentCardHandler: (options: object) => RequestListener
  readonly jsonRpcHandler: (options: object) => RequestListener
  readonly restHandler: (options: object) => RequestListener
  readonly UserBuilder: { readonly noAuthentication: unknown }
}

interface Codec {
  fromJSON(json: object): object
}

interface TypesModule {
  readonly AgentCard: Codec
  readonly Task: Codec
  readonly TaskStatusUpdateEvent: Codec
  readonly TaskArtifactUpdateEvent: Codec
  readonly Message: Codec
}

const modules = join(import.meta.dirname, '../../clients/node_modules')
const imported = async <T>(path: string): Promise<T> => (await import(pathToFileURL(join(modules, path)).href)) as T
const fromSdk = <T>(path: string): Promise<T> => imported<T>(`@a2a-js/sdk/dist/${path}`)

const textOf = ({ content }: Received['userMessage']['parts'][number]): string =>
  content?.$case === 'raw' ? Buffer.from(content.value as Uint8Array).toString() : String(content?.value)

/**
 * Starts an agent on the official server of A2A. `Ask` asks first, `Wait` works until it is cancelled, `Ping` is answered without a
 * task; everything else is repeated in two pieces.
 */
export async function startSdkAgent(binding: 'JSONRPC' | 'HTTP+JSON') {
  const { DefaultRequestHandler, InMemoryTaskStore, AgentEvent } = await fromSdk<ServerModule>('server/index.js')
  const { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } =
    await fromSdk<ExpressModule>('server/express/index.js')
  const types = await fromSdk<TypesModule>('index.js')
  const { default: express } = await imported<{
    default: () => { use(path: string, handler: RequestListener): void } & RequestListener
  }>('express/index.js')
  const received: Received[] = []
  const stops = new Map<string, () => void>()

  const executor = {
    async execute(request: Received, bus: Bus): Promise<void> {
      received.push(request)
      const text = request.userMessage.parts.map(textOf).join('\n')
      const { taskId, contextId } = request
      const place = { taskId, contextId }
      const message = (words: string) => ({
        messageId: crypto.randomUUID(),
        role: 'ROLE_AGENT',
        ...place,
        parts: [{ text: words }],
      })
      if (text === 'Ping') {
        bus.publish(AgentEvent.message(types.Message.fromJSON({ ...message('Pong.'), taskId: '' })))
        return bus.finished()
      }
      const status = (state: string, words?: string) => {
        const now = {
          state: `TASK_STATE_${state}`,
          timestamp: new Date().toISOString(),
          ...(words && { message: message(words) }),
        }
        bus.publish(AgentEvent.statusUpdate(types.TaskStatusUpdateEvent.fromJSON({ ...place, status: now })))
      }
      const artifact = (words: string, append: boolean) => {
        const change = {
          ...place,
          artifact: { artifactId: 'echo', parts: [{ text: words }] },
          append,
          lastChunk: append,
        }
        bus.publish(AgentEvent.artifactUpdate(types.TaskArtifactUpdateEvent.fromJSON(change)))
      }
      const submitted = { id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED' }, history: [] }
      bus.publish(AgentEvent.task(request.task ?? types.Task.fromJSON(submitted)))
      status('WORKING')
      if (text === 'Ask') {
        status('INPUT_REQUIRED', 'Which day?')
        return bus.finished()
      }
      if (text === 'Wait') {
        await new Promise<void>(resolve => stops.set(taskId, resolve))
        status('CANCELED')
        return bus.finished()
      }
      artifact('You said ', false)
      artifact(text, true)
      status('COMPLETED')
      bus.finished()
    },
    async cancelTask(taskId: string): Promise<void> {
      stops.get(taskId)?.()
    },
  }

  const app = express()
  const server = createServer(app)
  const { host, url, close } = await onLoopback(server)
  const card = types.AgentCard.fromJSON({
    name: 'Echo',
    description: 'Repeats each message',
    version: '1.0.0',
    supportedInterfaces: [{ url: `${url}/a2a`, protocolBinding: binding, protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  })
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor)
  const options = { requestHandler, userBuilder: UserBuilder.noAuthentication }
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
  app.use('/a2a', binding === 'JSONRPC' ? jsonRpcHandler(options) : restHandler(options))

  return {
    url,
    host,
    /** Messages that the agent has processed. */
    received,
    /** Tasks that wait to be cancelled. */
    get waiting(): number {
      return stops.size
    },
    stop: close,
  }
}
