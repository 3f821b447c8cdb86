import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Agent } from '../../contract/agents.ts'
import type { WebhookCountKind } from '../../contract/webhook-counts.ts'
import type { AgentStore } from '../agents/store.ts'
import type { AddressOf } from '../http/client-address.ts'
import { AppError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { Vault } from '../vault/vault.ts'
import type { Receiver } from './delivering.ts'
import type { DeliveryCounts } from './delivery-counts.ts'
import { claimOf } from './presets.ts'
import { settingsOf, tokenEntry } from './settings.ts'
import { digestOfSigned, isFresh, isSignedBy } from './signature.ts'
import { bearerOf, isOneOf, secretsOf } from './token.ts'

interface Deps {
  readonly agents: Pick<AgentStore, 'find'>
  readonly vault: Pick<Vault, 'value'>
  /** Undefined: authentication of callers is off; senders are always authenticated. */
  readonly masterKey: string | undefined
  /** Counts a failed attempt; false once the address has made too many. */
  readonly logins: { admits(address: string): boolean }
  readonly addressOf: AddressOf
  readonly log: Pick<Log, 'warn'>
  readonly nowMs: () => number
  readonly counts: Pick<DeliveryCounts, 'add'>
}

interface Rejected {
  readonly agent: Agent | undefined
  readonly kind: WebhookCountKind
}

interface SecretOwner {
  readonly agent: Agent | undefined
  readonly isRequired: boolean
}

/** A sender that may deliver to this agent. The signature must still be checked when the body has been read. */
export interface Admitted extends Receiver {
  /**
   * Throws `unauthorized` unless the body is signed as the agent requires. Returns the digest of the signed bytes when
   * they may be delivered only once.
   */
  checkSignature(body: Buffer): Buffer | undefined
}

export type Admission = ReturnType<typeof createAdmission>

/**
 * Authenticates senders. Every rejection is the same 401, so it does not reveal its cause. Interface: Authentication,
 * rule 9; Security: S27.
 */
export function createAdmission({ agents, vault, masterKey, logins, addressOf, log, nowMs, counts }: Deps) {
  const rejection = (request: IncomingMessage, { agent, kind }: Rejected): AppError => {
    // Ids of agents that do not exist are not counted: anyone can make them up.
    if (agent) counts.add(agent.id, kind)
    if (logins.admits(addressOf(request) ?? '')) return new AppError('unauthorized', 'unauthorized')
    return new AppError('rate_limited', 'too many invalid tokens from this address; retry after 60 s', {
      headers: { 'retry-after': '60' },
    })
  }

  /** Returns the secrets of a vault entry. Logs a warning when a required entry is missing. */
  async function currentSecrets(name: string, { agent, isRequired }: SecretOwner): Promise<string[]> {
    const ownerId = agent?.owner_id ?? undefined
    const query = { name, ownerId, mayBeGlobal: reachesGlobal(agent, name) }
    const value = isId.test(name) ? await vault.value(query) : undefined
    if (agent && isRequired && value === undefined)
      log.warn({ agent_id: agent.id, vault_entry: name }, 'vault entry of a webhook secret is missing')
    return value === undefined ? [] : secretsOf(value)
  }

  /** Undefined when the agent does not exist or its settings are invalid; the latter is logged. */
  async function receiverOf(agentId: string): Promise<Receiver | undefined> {
    const agent = isId.test(agentId) ? await agents.find(agentId, undefined) : undefined
    if (!agent) return undefined
    const settings = settingsOf(agent)
    if (!settings) log.warn({ agent_id: agentId }, 'config.webhook of an agent is invalid')
    return settings && { agent, settings }
  }

  /** Returns the check of the signature for when the body has been read. Throws early when it cannot succeed. */
  async function signatureCheck({ agent, settings: { signature } }: Receiver, request: IncomingMessage) {
    if (!signature) return () => undefined
    const claim = claimOf(signature, request.headers)
    const isTimely = claim !== undefined && isFresh(claim, nowMs())
    const unsigned = { agent, kind: 'invalid_signature' } as const
    // Without a valid claim such a sender is not authenticated, so do not read its body.
    if (signature.mode === 'instead' && !isTimely) throw rejection(request, unsigned)
    const secrets = await currentSecrets(signature.secret_key, { agent, isRequired: true })
    return (body: Buffer): Buffer | undefined => {
      if (!isTimely || !isSignedBy(secrets, claim, body)) throw rejection(request, unsigned)
      return digestOfSigned(signature, claim, body)
    }
  }

  return {
    /** Returns the secrets of a vault entry that senders to this agent may use; empty when it is missing. */
    secretsOf: (agent: Agent, name: string): Promise<string[]> => currentSecrets(name, { agent, isRequired: false }),

    /** Checks the head of a request. Unknown agents take the same path as known ones, so the time reveals nothing. */
    async admit(agentId: string, request: IncomingMessage): Promise<Admitted> {
      const receiver = await receiverOf(agentId)
      const token = bearerOf(request)
      const isRequired = receiver?.settings.signature?.mode !== 'instead'
      const entry = tokenEntry(agentId, receiver?.settings)
      const tokens = await currentSecrets(entry, { agent: receiver?.agent, isRequired })
      // Always compare, with a decoy if need be, so that the time reveals nothing.
      const isValid = isOneOf(tokens.length > 0 ? tokens : decoys(), token)
      const isMaster = isOneOf(masterKey === undefined ? decoys() : [masterKey], token)
      if (!receiver || isMaster || (isRequired && !isValid))
        throw rejection(request, { agent: receiver?.agent, kind: 'invalid_token' })
      return { ...receiver, checkSignature: await signatureCheck(receiver, request) }
    },
  }
}

/**
 * True when a global vault entry may be used. A key with limits could otherwise configure any global entry in its agent
 * and try tokens against it. The default entry of the agent has no other use, so it is always allowed.
 */
const reachesGlobal = (agent: Agent | undefined, name: string): boolean =>
  agent === undefined || agent.run_as_key_id === null || name === tokenEntry(agent.id, undefined)

const decoys = (): string[] => [randomBytes(16).toString('hex')]

/** Syntax of agent ids and names of vault entries; other texts are not looked up. */
const isId = /^[\w.-]{1,250}$/
