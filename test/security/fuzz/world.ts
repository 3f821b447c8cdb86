import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import { holderOf } from '../../support/keys/virtual-keys.ts'
import { exampleObjects } from '../../support/reference/example-objects.ts'
import { startExampleProviders } from '../../support/reference/example-providers.ts'
import { type Canary, plantCanary } from '../../support/secrets/canaries.ts'
import { send, sendOk, type Target } from '../../support/service/send.ts'
import { type Service, startService } from '../../support/service/service.ts'
import { echoingScript } from '../../support/upstream/echoing-script.ts'
import { startScriptedUpstream } from '../../support/upstream/scripted-upstream.ts'
import type { CallerName } from './requests.ts'

/** A service with secrets, callers, own objects and those of another owner. */
export interface FuzzWorld {
  readonly service: Service
  /** Secrets that no answer and no log may contain. */
  readonly secrets: readonly Canary[]
  /** Texts of another owner, which only unlimited callers may read. */
  readonly foreignTexts: readonly Canary[]
  targetOf(caller: CallerName): Target
  /** Replaces placeholders by ids of objects, which it creates. Admins get no foreign ones, since they may give them away. */
  fill(text: string, caller: CallerName): Promise<string>
  /** Ends freezes and replaces callers and objects that earlier requests have spoilt. */
  repair(): Promise<void>
}

const owner = 'me'

/** Starts the service. It stops after the test. */
export async function createFuzzWorld(): Promise<FuzzWorld> {
  const secrets: Canary[] = []
  const foreignTexts: Canary[] = []
  const plantIn = (list: Canary[], name: string, around?: (core: string) => string): string => {
    const { canary, secret } = plantCanary(name, around)
    list.push(canary)
    return secret
  }
  const encryptionKey = randomBytes(32)
  secrets.push({ name: 'encryption key', core: encryptionKey })
  const providers = await startExampleProviders()
  const upstream = await startScriptedUpstream({ script: echoingScript })
  after(() => Promise.all([providers.stop(), upstream.stop()]))
  const service = await startService({
    key: plantIn(secrets, 'master key', core => `sk-master-${core}`),
    config: configFor(providers.config, upstream, () => plantIn(secrets, 'provider key', core => `sk-up-${core}`)),
    env: { SWITCHYARD_ENCRYPTION_KEY: encryptionKey.toString('base64'), LOG_LEVEL: 'debug' },
  })

  const token = plantIn(secrets, 'webhook token')
  const foreign = await foreignObjects(service, name => plantIn(foreignTexts, name))
  const fixed = new Map([...foreign, ['hooked_agent_id', await hookedAgent(service, token)]])
  await sendOk(service, 'POST /api/vault', { body: { key: 'NOT_SHOWN', value: plantIn(secrets, 'vault value') } })
  const providerKey = plantIn(secrets, 'stored provider key', core => `sk-or-${core}`)
  await sendOk(service, 'PUT /api/providers/azure', { body: { api_key: providerKey, api_base: upstream.url } })

  let objects = exampleObjects(service)
  let callers = await limitedCallers(service)

  async function idOf(name: string): Promise<string> {
    // What an earlier request has frozen or spoilt leaves no object; the request is sent all the same.
    return fixed.get(name) ?? (await objects.idOf(name).catch(() => 'nothing_1'))
  }

  return {
    service,
    secrets,
    foreignTexts,
    targetOf: caller => {
      if (caller === 'admin') return service
      if (caller === 'webhook') return { url: service.url, key: token }
      return caller === 'stranger' ? { url: service.url } : callers[caller]
    },
    async fill(text, caller) {
      const isFree = caller === 'admin'
      const names = new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name))
      const ids = new Map<string, string>()
      for (const name of names) ids.set(name, await idOf(isFree ? name.replace('foreign_', '') : name))
      return text.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids.get(name) ?? '')
    },
    async repair() {
      const { freezes } = await sendOk<{ freezes: { id: string }[] }>(service, 'GET /v1/freezes')
      for (const { id } of freezes) await send(service, `DELETE /v1/freezes/${id}`)
      objects = exampleObjects(service)
      const works = await Promise.all(Object.values(callers).map(of => send(of, 'GET /api/me')))
      if (works.some(({ status }) => status !== 200)) callers = await limitedCallers(service)
    },
  }
}

const limitedCallers = async (service: Service) => ({
  'limited admin': await holderOf(service, { role: 'admin', owner_id: owner, max_budget: 1_000 }),
  user: await holderOf(service, { owner_id: owner, max_budget: 1_000, rpm_limit: 1_000_000 }),
})

interface Upstream {
  readonly url: string
  readonly port: number
}

function configFor(config: string, { url, port }: Upstream, newKey: () => string): string {
  const { model_list, outbound } = JSON.parse(config) as {
    readonly model_list: readonly { readonly model_name: string; readonly params: object }[]
    readonly outbound: { readonly allow: readonly string[] }
  }
  const echo = { model_name: 'echo', params: { model: 'anthropic/m', api_base: url } }
  return JSON.stringify({
    model_list: [...model_list, echo].map(({ model_name, params }) => ({
      model_name,
      params: { ...params, api_key: newKey() },
    })),
    outbound: { allow: [...outbound.allow, `127.0.0.1:${port}`] },
    router: { retries: 0, cooldown: { failures: 1_000_000 } },
  })
}

async function hookedAgent(service: Service, token: string): Promise<string> {
  await sendOk(service, 'POST /api/vault', { body: { key: 'FUZZ_HOOK', value: token } })
  const config = { webhook: { secret_key: 'FUZZ_HOOK' } }
  const body = { name: 'Hooked', owner_id: owner, model: 'demo', config }
  return (await sendOk<{ id: string }>(service, 'POST /api/agents', { body })).id
}

/** Objects of an owner that no limited caller is, with a text to look for in each. */
async function foreignObjects(service: Service, plant: (name: string) => string): Promise<[string, string][]> {
  const owner_id = 'another owner'
  const holder = await holderOf(service, { owner_id })
  const made = async (line: string, body: object) => (await sendOk<{ id: string }>(holder, line, { body })).id
  const agent = await made('POST /api/agents', {
    name: plant('foreign name'),
    owner_id,
    model: 'demo',
    system: plant('foreign system'),
  })
  const session = await made('POST /session', { agent, title: plant('foreign title'), prompt: plant('foreign prompt') })
  const memory = await made(`POST /api/v1/managed_agents/agents/${agent}/memory`, { text: plant('foreign memory') })
  const skill = await made('POST /api/v1/skills', { name: plant('foreign skill'), content: plant('foreign content') })
  await sendOk(holder, `GET /v1/sessions/${session}/events?types=session.status_idle&wait=30`)
  return [
    ['foreign_agent_id', agent],
    ['foreign_session_id', session],
    ['foreign_memory_id', memory],
    ['foreign_skill_id', skill],
  ]
}
