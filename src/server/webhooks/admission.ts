import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Agent } from '../../contract/agents.ts'
import type { AgentStore } from '../agents/store.ts'
import type { AddressOf } from '../http/client-address.ts'
import { AppError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { Vault } from '../vault/vault.ts'
import type { Receiver } from './delivering.ts'
import { claimOf } from './presets.ts'
import { settingsOf, tokenEntry } from './settings.ts'
import { digestOfSigned, isFresh, isSignedBy } from './signature.ts'
import { bearerOf, isOneOf, secretsOf } from './token.ts'

interface Deps {
  readonly agents: Pick<AgentStore, 'find'>
  readonly vault: Pick<Vault, 'value'>
  /** Undefined: authentication of callers is off; that of senders never is. */
  readonly masterKey: string | undefined
  /** Counts a refusal; false once the address has had too many. */
  readonly logins: { admits(address: string): boolean }
  readonly addressOf: AddressOf
  readonly log: Pick<Log, 'warn'>
  readonly nowMs: () => number
}

interface Wanted {
  readonly agent: Agent | undefined
  readonly isNeeded: boolean
}

/** A sender that may deliver to this agent; its signature is still to be checked once the body is there. */
export interface Admitted extends Receiver {
  /**
   * Throws `unauthorized` unless the body is signed as the agent requires. Returns the digest of what was signed where
   * it may be delivered only once.
   */
  checkSignature(body: Buffer): Buffer | undefined
}

export type Admission = ReturnType<typeof createAdmission>

/** Who may deliver. Every refusal is the same 401, whatever its cause. Interface: Authentication, rule 9; Security: S27. */
export function createAdmission({ agents, vault, masterKey, logins, addressOf, log, nowMs }: Deps) {
  const refusal = (request: IncomingMessage): AppError => {
    if (logins.admits(addressOf(request) ?? '')) return new AppError('unauthorized', 'unauthorized')
    return new AppError('rate_limited', 'too many wrong tokens from this address; wait a minute', {
      headers: { 'retry-after': '60' },
    })
  }

  /** Those of an entry that is needed are missed in the log. */
  async function liveSecrets(name: string, { agent, isNeeded }: Wanted): Promise<string[]> {
    const ownerId = agent?.owner_id ?? undefined
    const wanted = { name, ownerId, mayBeGlobal: reachesGlobal(agent, name) }
    const value = isId.test(name) ? await vault.value(wanted) : undefined
    if (agent && isNeeded && value === undefined)
      log.warn({ agent_id: agent.id, vault_entry: name }, 'a webhook has no secret in the vault')
    return value === undefined ? [] : secretsOf(value)
  }

  /** Undefined when there is none, or its settings are not to be relied on; the log has which. */
  async function receiverOf(agentId: string): Promise<Receiver | undefined> {
    const agent = isId.test(agentId) ? await agents.find(agentId, undefined) : undefined
    if (!agent) return undefined
    const settings = settingsOf(agent)
    if (!settings) log.warn({ agent_id: agentId }, 'config.webhook of an agent is not valid')
    return settings && { agent, settings }
  }

  /** How the signature is checked once the body is there. Throws where that cannot come out well. */
  async function signatureCheck({ agent, settings: { signature } }: Receiver, request: IncomingMessage) {
    if (!signature) return () => undefined
    const claim = claimOf(signature, request.headers)
    const isTimely = claim !== undefined && isFresh(claim, nowMs())
    // Nothing else speaks for such a sender: its body is not worth reading.
    if (signature.mode === 'instead' && !isTimely) throw refusal(request)
    const secrets = await liveSecrets(signature.secret_key, { agent, isNeeded: true })
    return (body: Buffer): Buffer | undefined => {
      if (!isTimely || !isSignedBy(secrets, claim, body)) throw refusal(request)
      return digestOfSigned(signature, claim, body)
    }
  }

  return {
    /** Looks at the head of a request. What does not exist takes the way of what does. */
    async admit(agentId: string, request: IncomingMessage): Promise<Admitted> {
      const receiver = await receiverOf(agentId)
      const token = bearerOf(request)
      const isNeeded = receiver?.settings.signature?.mode !== 'instead'
      const entry = tokenEntry(agentId, receiver?.settings)
      const known = await liveSecrets(entry, { agent: receiver?.agent, isNeeded })
      // Compared in any case: nothing to compare with takes as long.
      const isKnown = isOneOf(known.length > 0 ? known : decoys(), token)
      const isMaster = isOneOf(masterKey === undefined ? decoys() : [masterKey], token)
      if (!receiver || isMaster || (isNeeded && !isKnown)) throw refusal(request)
      return { ...receiver, checkSignature: await signatureCheck(receiver, request) }
    },
  }
}

/**
 * Whether a global entry counts. A key with limits could otherwise name any of them in its agent, and try tokens against it
 * by deliveries. The entry of the agent's own name is there for nothing else.
 */
const reachesGlobal = (agent: Agent | undefined, name: string): boolean =>
  agent === undefined || agent.run_as_key_id === null || name === tokenEntry(agent.id, undefined)

const decoys = (): string[] => [randomBytes(16).toString('hex')]

/** Ids of agents and names of vault entries; nothing else is worth a question to the database. */
const isId = /^[\w.-]{1,250}$/
