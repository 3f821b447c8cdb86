import type { Audit } from '../../audit/audit.ts'
import { nextVersion, type RowCipher } from '../../db/encrypted-rows.ts'
import type { RunSql } from '../../db/once.ts'
import type { Actor, By, Caller } from '../../http/caller.ts'
import { isNarrow } from '../../http/reach.ts'
import type { WholeEchoes } from '../../platform/echoes.ts'
import { AppError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { redacted } from './redact.ts'
import type { BodiesRow, BodiesStore, Visible } from './store.ts'

/** Recorded request or response. */
interface Recorded<Body> {
  readonly content_type: string | null
  /** Beginning of the body; null where it is not text. */
  readonly body: Body | null
  /** True when the body was longer. */
  readonly truncated: boolean
}

interface Bodies<Body> {
  readonly request: Recorded<Body>
  readonly response: Recorded<Body> & { readonly status: number | null }
}

export type RecordedBodies = Bodies<string>

interface Deps {
  readonly store: BodiesStore
  readonly cipher: RowCipher<'call_bodies'>
  /** Returns the filter for the credentials of the configured providers. */
  readonly echoes: () => WholeEchoes
  readonly audit: Audit
  readonly log: Pick<Log, 'warn'>
}

/** Maximum writes in flight. Further calls are not recorded: a call never waits for its record. */
const maxWrites = 200

/** Recorded bodies of calls, redacted and encrypted. */
export type BodyRecords = ReturnType<typeof createBodyRecords>

export function createBodyRecords({ store, cipher, echoes, audit, log }: Deps) {
  /** Writes in flight, by request id: a reader may come before the row is committed. */
  const writes = new Map<string, Promise<void>>()

  const clean = <R extends Recorded<Buffer>>({ body, ...side }: R, known: WholeEchoes) => ({
    ...side,
    body: body && redacted(body.toString('utf8'), known),
  })

  const write = async (row: BodiesRow, bodies: Bodies<Buffer>): Promise<void> => {
    // Yields first, so that redaction does not delay the end of the call.
    await new Promise(resolve => setImmediate(resolve))
    const known = echoes()
    const content = { request: clean(bodies.request, known), response: clean(bodies.response, known) }
    const bound = { request_id: row.request_id, version: nextVersion(undefined) }
    await store.insert({ ...row, ...bound, ...cipher.encrypt(JSON.stringify(content), bound) })
  }

  const noteOf =
    (verb: 'read' | 'delete', actor: Actor) =>
    (sql: RunSql, { request_id, owner_id, model, api_key_id }: BodiesRow): Promise<void> =>
      audit.record(sql, {
        actor,
        action: `call_bodies.${verb}`,
        objectId: request_id,
        ownerId: owner_id,
        before: { model, key_id: api_key_id },
      })

  return {
    /** Records a call in the background; a failure is logged. */
    record(row: BodiesRow, bodies: Bodies<Buffer>): void {
      const { request_id } = row
      if (writes.size >= maxWrites) {
        log.warn({ request_id }, `bodies of a call not recorded: ${maxWrites} records are waiting for the database`)
        return
      }
      const written = write(row, bodies)
        .catch((error: unknown) => log.warn({ err: error, request_id }, 'cannot record the bodies of a call'))
        .finally(() => writes.delete(request_id))
      writes.set(request_id, written)
    },

    /** Returns true if the caller may read the bodies of a call. Writes no entry to the audit log. */
    async has(requestId: string, caller: Caller): Promise<boolean> {
      if (caller.role !== 'admin') return false
      await writes.get(requestId)
      return store.exists(requestId, visibleTo(caller))
    },

    /** Returns the recorded bodies of a call that the caller may see. Writes an entry to the audit log. */
    async read(requestId: string, { caller, actor }: By) {
      await writes.get(requestId)
      const row = await store.find(requestId, visibleTo(caller), noteOf('read', actor))
      if (!row) throw notRecorded(requestId)
      const { request, response } = JSON.parse(cipher.decrypt(row).toString()) as RecordedBodies
      const { request_id, principal, api_key_id: key_id, owner_id, model } = row
      const created_at = row.created_at.toISOString()
      return { request_id, created_at, principal, key_id, owner_id, model, request, response }
    },

    async remove(requestId: string, { caller, actor }: By): Promise<void> {
      await writes.get(requestId)
      if (!(await store.remove(requestId, visibleTo(caller), noteOf('delete', actor)))) throw notRecorded(requestId)
    },
  }
}

/** A limited admin key sees only calls with itself and its descendants. */
const visibleTo = (caller: Caller): Visible => ({
  owner: caller.ownerScope,
  within: isNarrow(caller) ? caller.key?.id : undefined,
})

const notRecorded = (requestId: string): AppError =>
  new AppError(
    'not_found',
    `bodies of call ${requestId.slice(0, 100)} are not recorded; set log_bodies of a key or a model to record later calls`,
  )
