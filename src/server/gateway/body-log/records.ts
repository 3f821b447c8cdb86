import type { Audit } from '../../audit/audit.ts'
import type { RunSql } from '../../db/once.ts'
import { nextVersion, type RowSealer } from '../../db/sealed-rows.ts'
import type { Actor, By, Caller } from '../../http/caller.ts'
import { isNarrow } from '../../http/reach.ts'
import type { WholeEchoes } from '../../platform/echoes.ts'
import { AppError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { redacted } from './redact.ts'
import type { BodiesRow, BodiesStore, Visible } from './store.ts'

/** One side of a call. */
interface Recorded<Body> {
  readonly content_type: string | null
  /** The beginning of it, as far as it is kept; null where it is no text. */
  readonly body: Body | null
  /** More followed. */
  readonly truncated: boolean
}

interface Bodies<Body> {
  readonly request: Recorded<Body>
  readonly response: Recorded<Body> & { readonly status: number | null }
}

export type RecordedBodies = Bodies<string>

interface Deps {
  readonly store: BodiesStore
  readonly sealer: RowSealer<'call_bodies'>
  /** Finds the credentials of the providers that are configured now. */
  readonly echoes: () => WholeEchoes
  readonly audit: Audit
  readonly log: Pick<Log, 'warn'>
}

/** Calls whose bodies wait to be written. More are not recorded: a call never waits for its record. */
const mostWaiting = 200

/** Bodies of calls, redacted and sealed. */
export type BodyRecords = ReturnType<typeof createBodyRecords>

export function createBodyRecords({ store, sealer, echoes, audit, log }: Deps) {
  /** Writes that have not ended: a reader may come before its row is committed. */
  const writes = new Map<string, Promise<void>>()

  const clean = <R extends Recorded<Buffer>>({ body, ...side }: R, known: WholeEchoes) => ({
    ...side,
    body: body && redacted(body.toString('utf8'), known),
  })

  const write = async (row: BodiesRow, bodies: Bodies<Buffer>): Promise<void> => {
    // After what the call's own turn still has to do.
    await new Promise(resolve => setImmediate(resolve))
    const known = echoes()
    const content = { request: clean(bodies.request, known), response: clean(bodies.response, known) }
    const bound = { request_id: row.request_id, version: nextVersion(undefined) }
    await store.insert({ ...row, ...bound, ...sealer.seal(JSON.stringify(content), bound) })
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
    keep(row: BodiesRow, bodies: Bodies<Buffer>): void {
      const { request_id } = row
      if (writes.size >= mostWaiting) {
        log.warn({ request_id }, 'the bodies of a call are not recorded: too many wait to be written')
        return
      }
      const written = write(row, bodies)
        .catch((error: unknown) => log.warn({ err: error, request_id }, 'could not record the bodies of a call'))
        .finally(() => writes.delete(request_id))
      writes.set(request_id, written)
    },

    /** What was recorded of a call that the caller may see; the audit log notes who reads it. */
    async read(requestId: string, { caller, actor }: By) {
      await writes.get(requestId)
      const row = await store.find(requestId, visibleTo(caller), noteOf('read', actor))
      if (!row) throw notRecorded(requestId)
      const { request, response } = JSON.parse(sealer.open(row).toString()) as RecordedBodies
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

/** A limited admin key sees the calls of its own line. */
const visibleTo = (caller: Caller): Visible => ({
  owner: caller.ownerScope,
  within: isNarrow(caller) ? caller.key?.id : undefined,
})

const notRecorded = (requestId: string): AppError =>
  new AppError(
    'not_found',
    `no bodies of call ${requestId.slice(0, 100)} are recorded; log_bodies of a key or a model records those to come`,
  )
