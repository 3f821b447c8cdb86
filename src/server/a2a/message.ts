import type { A2aMessage, A2aPart, A2aSendRequest } from '../../contract/a2a-objects.ts'
import type { PromptPart } from '../../contract/prompts.ts'
import { invalid } from '../platform/errors.ts'
import { isRecord } from '../platform/json.ts'
import { a2aFailure } from './errors.ts'

/** The answer to a question of a task. */
export interface Answer {
  readonly approvalId: string
  readonly result: 'allow' | 'deny'
  /** Why it was denied, for the model. */
  readonly message: string | undefined
}

const decisions = { approve: 'allow', deny: 'deny' } as const

/** Rejects parts of a request that this service cannot use. */
export function checkRequest({ message, configuration = {} }: A2aSendRequest, outputModes: readonly string[]): void {
  if (message.role !== 'ROLE_USER') throw invalid('message.role must be ROLE_USER')
  if ((configuration.taskPushNotificationConfig ?? null) !== null) throw pushNotSupported()
  const { acceptedOutputModes: accepted = [] } = configuration
  if (accepted.length > 0 && !accepted.some(mode => outputModes.some(own => covers(mode, own)))) {
    throw a2aFailure(
      'CONTENT_TYPE_NOT_SUPPORTED',
      `configuration.acceptedOutputModes must include one of ${outputModes.join(', ')}`,
    )
  }
}

/** True when a media type, which may end in `/*`, includes another. */
function covers(mode: string, own: string): boolean {
  const wanted = mode.split(';')[0]?.trim().toLowerCase() ?? ''
  return wanted === own || wanted === '*/*' || (wanted.endsWith('/*') && own.startsWith(wanted.slice(0, -1)))
}

export const pushNotSupported = () =>
  a2aFailure(
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
    'push notifications are not supported; follow the task, or create a webhook endpoint at /api/webhook-endpoints',
  )

/** Returns the parts of a message as those of a prompt. */
export const promptPartsOf = ({ parts }: A2aMessage): PromptPart[] =>
  parts.map((part, at) => {
    const text = textOf(part, at)
    if (text.trim() === '') throw invalid(`message.parts[${at}].text must not be blank`)
    return { type: 'text', text }
  })

function textOf({ text, raw, url, data, mediaType = 'text/plain' }: A2aPart, at: number): string {
  if (raw !== undefined || url !== undefined || data !== undefined || !/^text\//i.test(mediaType)) {
    const problem = `message.parts[${at}] is not text`
    throw a2aFailure('CONTENT_TYPE_NOT_SUPPORTED', `${problem}; send text parts, in a text/* media type`)
  }
  if (text === undefined) throw invalid(`message.parts[${at}].text is required`)
  return text
}

/**
 * Returns the answers of a message to the pending approvals: the text `approve`, `deny` or `deny: <reason>` answers all of them,
 * a data part `{decision, approval_id?, message?}` one or all.
 */
export function answersOf({ parts }: A2aMessage, pending: readonly string[]): Answer[] {
  const answers = parts.flatMap((part, at) => (part.data === undefined ? ofText(part, at) : ofData(part.data, at)))
  const byApproval = new Map<string, Answer>()
  for (const { approvalId, ...answer } of answers) {
    for (const id of approvalId === undefined ? pending : [approvalId]) {
      if (!pending.includes(id))
        throw invalid(`approval_id ${id.slice(0, 200)} is not pending; pending: ${pending.join(', ')}`)
      if (byApproval.has(id)) throw invalid(`message.parts answer approval ${id} twice; answer it once`)
      byApproval.set(id, { approvalId: id, ...answer })
    }
  }
  return [...byApproval.values()]
}

type Given = Omit<Answer, 'approvalId'> & { readonly approvalId: string | undefined }

const forms = 'must be the text "approve", "deny" or "deny: <reason>", or data with "decision"'

function ofText({ text = '' }: A2aPart, at: number): Given[] {
  const [, word, reason] = /^(approve|deny)\s*(?::\s*(.*))?$/is.exec(text.trim()) ?? []
  const decision = word?.toLowerCase()
  if (decision === 'deny') return [{ approvalId: undefined, result: 'deny', message: reason?.trim() || undefined }]
  if (decision === 'approve' && reason === undefined)
    return [{ approvalId: undefined, result: 'allow', message: undefined }]
  throw invalid(`message.parts[${at}] ${forms}: the task asks for approval`)
}

function ofData(data: unknown, at: number): Given[] {
  if (!isRecord(data)) throw invalid(`message.parts[${at}].data must be an object: ${forms}`)
  const { decision, approval_id: approvalId, message } = data
  if (decision !== 'approve' && decision !== 'deny') {
    throw invalid(`message.parts[${at}].data.decision must be "approve" or "deny"`)
  }
  if (approvalId !== undefined && typeof approvalId !== 'string') {
    throw invalid(`message.parts[${at}].data.approval_id must be string`)
  }
  if (message !== undefined && (typeof message !== 'string' || message.length > 10_000 || decision === 'approve')) {
    throw invalid(`message.parts[${at}].data.message must be the reason of a denial, of at most 10000 characters`)
  }
  return [{ approvalId, result: decisions[decision], message }]
}
