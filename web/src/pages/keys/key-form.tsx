import { Button, Collapse, Group, NumberInput, SegmentedControl, Select, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react'
import { formErrorOf } from '../../data/form-error.ts'
import { objectIn } from '../../data/json.ts'
import type { Submit } from '../../data/submit.ts'
import { periodsWith } from '../../parts/budget-periods.ts'
import { useNow } from '../../parts/now.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { ExpiryField } from './expiry-field.tsx'
import { HolderFields } from './holder-fields.tsx'
import { type KeyDraft, rightsOf } from './key-draft.ts'
import { amountOf, type FieldsProps, keyFields, rareFields } from './key-fields.ts'
import css from './key-form.module.css'
import { MoreSettings } from './key-more.tsx'
import { keySentence } from './key-sentence.ts'
import { ModelsField } from './models-field.tsx'

interface Props {
  readonly draft: KeyDraft
  readonly onChange: (draft: KeyDraft) => void
  readonly submit: Submit
  /** Verb with object: `Create API key`. */
  readonly action: string
  readonly onCancel: () => void
}

const rightsOfRole: Readonly<Record<KeyDraft['role'], string>> = {
  viewer: 'Reads agents, sessions, memories and skills, and changes nothing',
  user: 'Models, agents, sessions, memories, skills and MCP servers',
  admin: 'May also manage keys, providers, models and budgets, within its own limits',
}

/** The form of a key, with a sentence that says what it will allow. */
export function KeyForm({ draft, onChange, submit, action, onCancel }: Props) {
  const now = useNow()
  const [isMore, { toggle }] = useDisclosure()
  const error = formErrorOf(submit.error, keyFields)
  const isWrong = objectIn(draft.metadata) === undefined
  // An error must not be hidden.
  const isOpen = isMore || isWrong || rareFields.some(error.at)
  const set = (changes: Partial<KeyDraft>) => onChange({ ...draft, ...changes })
  const part = { draft, set, errorAt: error.at }
  return (
    <form onSubmit={event => void submit.send(event)}>
      <Stack gap="md">
        <TextInput
          label="Label"
          description="What the key is for, or who has it"
          maxLength={200}
          value={draft.label}
          onChange={({ currentTarget }) => set({ label: currentTarget.value })}
          error={error.at('label')}
          data-autofocus
        />
        <HolderFields {...part} />
        <div>
          <Text size="sm" fw={500} id="key-role">
            Role
          </Text>
          <SegmentedControl
            aria-labelledby="key-role"
            size="xs"
            mt={4}
            data={[
              { value: 'viewer', label: 'Viewer' },
              { value: 'user', label: 'User' },
              { value: 'admin', label: 'Administrator' },
            ]}
            value={draft.role}
            onChange={role => set({ role })}
          />
          <Text size="xs" c={error.at('role') ? 'red' : 'dimmed'} mt={4}>
            {error.at('role') ?? rightsOfRole[draft.role]}
          </Text>
        </div>
        <ModelsField {...part} />
        <div className={css.pair}>
          <NumberInput
            label="Budget"
            prefix="$"
            placeholder="no limit"
            min={0}
            decimalScale={6}
            hideControls
            value={draft.max_budget}
            onChange={value => set({ max_budget: amountOf(value) })}
            error={error.at('max_budget')}
          />
          <Select
            label="Period"
            data={periodsWith(draft.budget_duration)}
            value={draft.budget_duration}
            onChange={value => set({ budget_duration: value ?? '' })}
            disabled={draft.max_budget === '' && draft.soft_budget === ''}
            error={error.at('budget_duration')}
          />
        </div>
        <ExpiryField {...part} />
        <div className={css.triple}>
          <Limit label="Requests a minute" name="rpm_limit" {...part} />
          <Limit label="Tokens a minute" name="tpm_limit" {...part} />
          <Limit label="Calls at a time" name="max_parallel_requests" {...part} />
        </div>
        <Button
          variant="subtle"
          color="gray"
          justify="start"
          leftSection={isOpen ? <IconChevronDown size={14} /> : <IconChevronRight size={14} />}
          onClick={toggle}
          aria-expanded={isOpen}
        >
          More settings
        </Button>
        <Collapse expanded={isOpen}>
          <MoreSettings {...part} />
        </Collapse>
        <div className={css.foot}>
          <p className={css.sentence} aria-live="polite">
            <SafeText text={keySentence(rightsOf(draft), now)} />
          </p>
          <ProblemLine error={error.rest} />
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onCancel}>
              Cancel
            </Button>
            <Button type="submit" loading={submit.isRunning} disabled={isWrong}>
              {action}
            </Button>
          </Group>
        </div>
      </Stack>
    </form>
  )
}

interface LimitProps extends FieldsProps {
  readonly label: string
  readonly name: 'rpm_limit' | 'tpm_limit' | 'max_parallel_requests'
}

function Limit({ label, name, draft, set, errorAt }: LimitProps) {
  return (
    <NumberInput
      label={label}
      placeholder="no limit"
      min={1}
      allowDecimal={false}
      thousandSeparator=","
      hideControls
      value={draft[name]}
      onChange={value => set({ [name]: amountOf(value) })}
      error={errorAt(name)}
    />
  )
}
