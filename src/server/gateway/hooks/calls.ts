import { coversModel } from '../../../contract/keys.ts'
import type { Hook } from '../../config/config.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import type { Outbound } from '../../platform/outbound.ts'
import type { BatchRequest } from '../batching/batch-api.ts'
import { hasDuplicateName } from '../bytes/duplicate-names.ts'
import { type Call, isCount, type Outcome, type ParsedRequest, type Sink } from '../core/call.ts'
import type { Gateway } from '../gateway.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { answeredCall } from './answered-call.ts'
import { type CheckedCall, isForm, requestBody, withRequestBody } from './bodies.ts'
import { createHookClient, type HookClient } from './client.ts'
import { type Consult, createConsult } from './consult.ts'

interface Settings {
  readonly hooks: readonly Hook[]
  readonly outbound: Outbound
}

interface Options extends Settings {
  readonly gateway: Gateway
  readonly log: Log
}

/** Gateway that calls hooks. */
interface HookedGateway {
  readonly gateway: Gateway
  /** Applies a new list of hooks. Calls in flight keep the previous one. */
  reload(settings: Settings): void
}

/** Current hooks with their client. */
interface InForce {
  readonly hooks: readonly Hook[]
  readonly client: HookClient
  readonly consult: Consult
}

/** Wraps `gateway` to call hooks before and after each model call. Token counts are excluded. */
export function createHookedGateway({ gateway, log, ...settings }: Options): HookedGateway {
  const inForceOf = ({ hooks, outbound }: Settings): InForce => {
    const client = createHookClient(outbound)
    return { hooks, client, consult: createConsult({ client, log }) }
  }
  let current = inForceOf(settings)

  const callWithHooks = async (given: Call, sink: Sink): Promise<Outcome> => {
    const { hooks, consult } = current
    const first = { call: given, parsed: gateway.check(given) }
    // The request that a batch API answered was prepared when it was submitted.
    const checked = given.batchAnswer ? first : await prepared(first, { gateway, consult, hooks: preHooksOf(hooks) })
    if (!checked) return abortedBefore
    const postHooks = hooks.filter(hook => hook.phase === 'post' && concerns(hook, checked))
    if (postHooks.length === 0) return gateway.call(checked.call, sink)
    return answeredCall({ gateway, checked, sink, hooks: postHooks, consult })
  }

  const batchRequestWithHooks = async (given: Call): Promise<BatchRequest | undefined> => {
    const { hooks, consult } = current
    const first = { call: given, parsed: gateway.check(given) }
    const checked = await prepared(first, { gateway, consult, hooks: preHooksOf(hooks) })
    return checked && gateway.batchRequest(checked.call)
  }

  return {
    gateway: {
      ...gateway,
      get streams() {
        return gateway.streams
      },
      call: (call, sink) =>
        current.hooks.length === 0 || isCount(call.kind) ? gateway.call(call, sink) : callWithHooks(call, sink),
      batchRequest: call => (current.hooks.length === 0 ? gateway.batchRequest(call) : batchRequestWithHooks(call)),
      async close() {
        await current.client.close()
        await gateway.close()
      },
    },
    reload(next) {
      current.client.retire()
      current = inForceOf(next)
    },
  }
}

const preHooksOf = (hooks: readonly Hook[]): readonly Hook[] => hooks.filter(({ phase }) => phase === 'pre')

/** True when a hook applies to calls with that model and key. */
const concerns = ({ models, keys }: Hook, { call, parsed }: CheckedCall): boolean =>
  coversModel(models, parsed.model) && (keys.length === 0 || keys.includes(call.caller.key?.id ?? ''))

interface Preparing {
  readonly gateway: Pick<Gateway, 'check'>
  readonly consult: Consult
  readonly hooks: readonly Hook[]
}

/** Applies hooks to a call, one after the other. Undefined when the client has disconnected. */
async function prepared(given: CheckedCall, { gateway, consult, hooks }: Preparing): Promise<CheckedCall | undefined> {
  let checked = given
  for (const hook of hooks) {
    if (!concerns(hook, checked)) continue
    const { call } = checked
    rejectDuplicateNames(call)
    const body = () => requestBody(checked)
    const changed = await consult.call(hook, call, { body, replace: replaced => withRequestBody(call, replaced) })
    if (call.signal.aborted) return undefined
    if (changed) checked = { call: changed, parsed: checkAgain(gateway, changed, hook) }
  }
  return checked
}

/** Of two members of one name a hook would judge one, and the model could read the other. */
function rejectDuplicateNames(call: Call): void {
  if (isForm(call) || !hasDuplicateName(call.body)) return
  const { requestId } = call
  throw invalid('an object in the body names a member twice').with({
    'x-switchyard-request-id': requestId,
    'x-switchyard-error-source': 'gateway',
  })
}

/** Checks a call whose body a hook has replaced. */
function checkAgain(gateway: Pick<Gateway, 'check'>, call: Call, hook: Hook): ParsedRequest {
  try {
    return gateway.check(call)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { code, message, headers, fields } = error
    throw new AppError(code, `hook ${hook.name} replaced the body: ${message}`, { headers, fields, cause: error })
  }
}

const abortedBefore: Outcome = {
  outcome: 'aborted',
  status: undefined,
  stopReason: undefined,
  usage: noTokens,
  firstContentMs: undefined,
}
