import type { Pool } from 'pg'
import { maxStateChars } from '../../contract/ag-ui-input.ts'
import { transaction } from '../db/connect.ts'
import { invalid } from '../platform/errors.ts'
import { type FrontEnds, isShared } from '../tools/front-end.ts'
import type { ThreadStore } from './thread-store.ts'

/** Field of a session's environment that names its thread; only such sessions are looked up. */
export const threadField = 'ag_ui_thread'

interface Deps {
  readonly pool: Pool
  readonly store: ThreadStore
}

/** The front-ends that the threads of AG-UI give to their sessions. */
export const createFrontEnds = ({ pool, store }: Deps): FrontEnds => ({
  async of({ id, environment }, promptId) {
    if (environment[threadField] === undefined) return undefined
    if (promptId !== undefined && !(await store.hasSent(id, promptId))) return undefined
    const content = await store.content(id)
    if (!content) return undefined
    const { front_end, state } = content
    const update = (change: (value: unknown) => unknown) =>
      transaction(pool, async client => {
        const changed = change(await store.lockState(client, id))
        checkState(changed, 'the state')
        await store.setState(client, id, changed)
      })
    return { ...front_end, state: isShared(state) ? { value: state, update } : undefined }
  },
})

/** Throws `invalid_request` for a state that is too long for a request to the model. */
export function checkState(state: unknown, field: string): void {
  if ((JSON.stringify(state) ?? '').length > maxStateChars)
    throw invalid(`${field} must have at most ${maxStateChars} characters as JSON`)
}
