import type { Agent } from '../../contract/agents.ts'
import type { DeliveryExample, WebhookCheck, WebhookCheckItem, WebhookConfig } from '../../contract/webhooks.ts'
import type { AgentStore } from '../agents/store.ts'
import type { Caller } from '../http/caller.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { Admission } from './admission.ts'
import { deliveryIdOf, type Headers, isSecretHeader } from './headers.ts'
import { claimOf } from './presets.ts'
import { settingsOf, tokenEntry } from './settings.ts'
import { isFresh, isSignedBy } from './signature.ts'
import { signedHeaders } from './signing.ts'
import type { Webhooks } from './webhooks.ts'

interface Deps {
  readonly agents: Pick<AgentStore, 'find'>
  readonly secretsOf: Admission['secretsOf']
  readonly webhooks: Pick<Webhooks, 'preview' | 'send'>
  readonly nowMs: () => number
}

interface Wanted extends DeliveryExample {
  readonly run_agent?: boolean
}

type Outcome = Omit<WebhookCheckItem, 'check'>

const passed = (message: string): Outcome => ({ outcome: 'passed', message })
const failed = (message: string): Outcome => ({ outcome: 'failed', message })
const skipped = (message: string): Outcome => ({ outcome: 'skipped', message })

/**
 * Returns a function that sends a delivery through the checks of the intake. It signs in the place of the sender, with the
 * stored secrets, so the answer does not reveal them.
 */
export function createWebhookCheck({ agents, secretsOf, webhooks, nowMs }: Deps) {
  async function tokenOutcome(agent: Agent, settings: WebhookConfig): Promise<Outcome> {
    if (settings.signature?.mode === 'instead') return skipped('the signature replaces the bearer token')
    const entry = tokenEntry(agent.id, settings)
    const tokens = await secretsOf(agent, entry)
    return tokens.length > 0
      ? passed(`vault entry ${entry} has the token`)
      : failed(`vault entry ${entry} is missing or empty: senders get 401; store the token under this name`)
  }

  async function signatureOutcome(agent: Agent, { signature }: WebhookConfig, body: Buffer): Promise<Outcome> {
    if (!signature) return skipped('config.webhook.signature is not set; the bearer token alone authenticates senders')
    const secrets = await secretsOf(agent, signature.secret_key)
    const [secret] = secrets
    if (secret === undefined)
      return failed(`vault entry ${signature.secret_key} is missing or empty: senders get 401; store the secret`)
    const headers = signedHeaders(signature, secret, { id: newId('del'), seconds: Math.floor(nowMs() / 1000), body })
    const claim = headers && claimOf(signature, headers)
    const isValid = claim !== undefined && isFresh(claim, nowMs()) && isSignedBy(secrets, claim, body)
    return isValid
      ? passed(`a body signed as ${signature.preset} is accepted`)
      : failed(`the secret in vault entry ${signature.secret_key} cannot sign as ${signature.preset}`)
  }

  return async (agentId: string, wanted: Wanted, caller: Caller): Promise<WebhookCheck> => {
    const agent = await agents.find(agentId, caller.ownerScope)
    if (!agent) throw notFound('agent', agentId)
    const given = Object.keys(wanted.headers ?? {}).find(isSecretHeader)
    if (given !== undefined)
      throw invalid(`headers.${given} must be left out: the test adds token and signature with the stored secrets`)
    if (wanted.payload === undefined) throw invalid('payload is required')
    const settings = settingsOf(agent)
    if (!settings) {
      const checks = [{ check: 'agent' as const, ...failed('config.webhook is invalid; update the agent') }]
      return { ok: false, checks, preview: null, delivery: null }
    }
    const preview = await webhooks.preview(agentId, wanted, caller)
    const body = Buffer.from(JSON.stringify(wanted.payload))
    const checks: WebhookCheckItem[] = [
      { check: 'agent', ...agentOutcome(agent) },
      { check: 'token', ...(await tokenOutcome(agent, settings)) },
      { check: 'signature', ...(await signatureOutcome(agent, settings, body)) },
      { check: 'id', ...idOutcome(wanted.headers, settings) },
      { check: 'body', ...bodyOutcome(body, preview) },
    ]
    const ok = checks.every(({ outcome }) => outcome !== 'failed')
    const delivery = ok && wanted.run_agent ? await webhooks.send(agentId, wanted, caller) : null
    return { ok, checks, preview, delivery }
  }
}

const agentOutcome = ({ id, status }: Agent): Outcome =>
  status === 'active' ? passed(`agent ${id} is active`) : failed(`agent ${id} is ${status}: senders get 409`)

function idOutcome(headers: DeliveryExample['headers'] = {}, settings: WebhookConfig): Outcome {
  const given: Headers = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const configured = settings.delivery_id_header
  try {
    const id = deliveryIdOf(given, configured)
    if (id !== undefined) return passed(`the delivery id is ${id}`)
  } catch (error) {
    if (error instanceof AppError) return failed(error.message)
    throw error
  }
  if (configured)
    return failed(`header ${configured} (config.webhook.delivery_id_header) is missing: each delivery is new`)
  return skipped('no header has a delivery id, so each delivery is new, also a repeated one')
}

function bodyOutcome(body: Buffer, { outcome, reason }: NonNullable<WebhookCheck['preview']>): Outcome {
  if (outcome === 'skipped') return skipped(`config.webhook.events does not match: ${reason ?? 'no condition'}`)
  return passed(`${body.length} bytes of JSON; the agent would get a message`)
}
