import { Autocomplete, TagsInput, Textarea } from '@mantine/core'
import { conversationPresets } from '../../../../../src/contract/webhook-presets.ts'
import type { WebhookCondition } from '../../../../../src/contract/webhooks.ts'
import { JsonField } from '../../../parts/json-field.tsx'
import type { Sender } from './senders.ts'
import type { SetupDraft } from './setup-draft.ts'

interface Props {
  readonly draft: SetupDraft
  readonly set: (changes: Partial<SetupDraft>) => void
  readonly sender: Sender
}

/** Which deliveries start a session, and what the agent reads. */
export function FilterStep({ draft, set, sender }: Props) {
  return (
    <>
      <TagsInput
        label="Events"
        description="Only these start a session; empty: all. issues also means issues.opened"
        placeholder={draft.eventNames.length === 0 ? 'All events' : ''}
        data={[...sender.events]}
        value={[...draft.eventNames]}
        onChange={eventNames => set({ eventNames })}
        clearable
      />
      <JsonField
        label="Conditions on fields and headers"
        description="All must hold. Each names a field or a header, and in, not_in or exists"
        placeholder={'[{"field": "sender.type", "not_in": ["Bot"]}]'}
        value={draft.conditions.length > 0 ? draft.conditions : undefined}
        problemOf={value => (value === undefined || Array.isArray(value) ? undefined : 'must be a list')}
        onChange={value => set({ conditions: (value ?? []) as WebhookCondition[] })}
        minRows={2}
      />
      <Textarea
        label="Message for the agent"
        description="Text with {{path.to.field}} of the payload; empty: the payload as JSON"
        placeholder={'{{repository.full_name}}#{{issue.number}} {{issue.title}}\n\n{{issue.body}}'}
        value={draft.template}
        onChange={({ currentTarget }) => set({ template: currentTarget.value })}
        autosize
        minRows={4}
        maxRows={16}
        classNames={{ input: 'mono' }}
        spellCheck={false}
      />
      <Autocomplete
        label="Conversation"
        description="Deliveries with the same value continue one session, one prompt after the other; empty: each starts its own session, and they run in parallel"
        placeholder={sender.conversation ?? 'ticket.id'}
        data={[...conversationPresets]}
        value={draft.conversation}
        onChange={conversation => set({ conversation })}
      />
    </>
  )
}
