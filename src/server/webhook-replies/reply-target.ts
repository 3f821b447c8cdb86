import type { WebhookConfig, WebhookReplyType } from '../../contract/webhooks.ts'
import { type Json, recordOf, textOf } from '../platform/json.ts'
import { withoutTrailing } from '../platform/trailing.ts'

/** Where a reply goes. `base` is the URL of the API, or the receiver of a callback. */
export interface ReplyTarget extends Readonly<Record<string, unknown>> {
  readonly base: string
}

/** Marks comments of this service, so that it never answers them. */
export const commentMark = '<!-- switchyard-reply:'
/** Type of the message of a callback. */
export const callbackType = 'session.reply'

/** Reply types of the signature presets, for settings that name none. */
const typeOfPreset: Readonly<Record<string, WebhookReplyType>> = { github: 'github_comment', slack: 'slack_thread' }
const defaultBase = { github_comment: 'https://api.github.com', slack_thread: 'https://slack.com/api', callback: '' }

/** Returns the type of the replies of an agent; undefined when its webhook has none. */
export const replyTypeOf = ({ reply, signature }: WebhookConfig): WebhookReplyType | undefined =>
  reply ? (reply.type ?? typeOfPreset[signature?.preset ?? '']) : undefined

/** Returns where the reply to a delivery goes, or why it has no place. The payload never names a host. */
export function targetOf(type: WebhookReplyType, url: string | undefined, payload: unknown): ReplyTarget | string {
  const base = withoutTrailing(url ?? defaultBase[type], '/')
  switch (type) {
    case 'github_comment':
      return issueOf(base, recordOf(payload)) ?? 'payload names no repository with an issue or pull request'
    case 'slack_thread':
      return threadOf(base, recordOf(recordOf(payload)['event'])) ?? 'payload names no channel with a message'
    case 'callback':
      return { base: url ?? '' }
  }
}

function issueOf(base: string, payload: Json): ReplyTarget | undefined {
  const repository = textOf(recordOf(payload['repository'])['full_name'])
  const number = recordOf(payload['issue'])['number'] ?? recordOf(payload['pull_request'])['number']
  if (!/^[\w.-]{1,100}\/[\w.-]{1,100}$/.test(repository) || repository.split('/').some(part => /^\.+$/.test(part)))
    return undefined
  return Number.isSafeInteger(number) && Number(number) > 0 ? { base, repository, number } : undefined
}

function threadOf(base: string, event: Json): ReplyTarget | undefined {
  const [channel, thread_ts] = [textOf(event['channel']), textOf(event['thread_ts'] ?? event['ts'])]
  return /^[A-Z0-9]{1,30}$/.test(channel) && /^\d{1,15}\.\d{1,10}$/.test(thread_ts)
    ? { base, channel, thread_ts }
    : undefined
}

/** Returns why a delivery is not answered: this service, or a bot of the channel, wrote it. */
export function reasonNotToAnswer(settings: WebhookConfig, payload: unknown): string | undefined {
  const fields = recordOf(payload)
  const event = recordOf(fields['event'])
  switch (replyTypeOf(settings)) {
    case 'github_comment':
      return textOf(recordOf(fields['comment'])['body']).includes(commentMark)
        ? 'comment is a reply of this service'
        : undefined
    case 'slack_thread':
      return event['bot_id'] !== undefined || event['subtype'] === 'bot_message'
        ? 'message was written by a bot'
        : undefined
    case 'callback':
      return fields['type'] === callbackType ? 'payload is a reply of this service' : undefined
    case undefined:
      return undefined
  }
}
