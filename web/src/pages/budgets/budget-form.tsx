import { NumberInput, Select, Stack } from '@mantine/core'
import type { BudgetWrite } from '../../../../src/contract/budgets.ts'
import type { FormError } from '../../data/form-error.ts'
import { periodsWith } from '../../parts/budget-periods.ts'

/** Fields of a budget that errors of the service name. */
export const limitFields = [
  'max_budget',
  'soft_budget',
  'budget_duration',
  'rpm_limit',
  'tpm_limit',
  'max_parallel_requests',
] as const
type Field = (typeof limitFields)[number]

type NumberField = Exclude<Field, 'budget_duration'>

interface Props {
  readonly limits: Required<BudgetWrite>
  readonly onChange: (limits: Required<BudgetWrite>) => void
  readonly error: FormError<Field>
}

export const noLimits: Required<BudgetWrite> = {
  max_budget: null,
  soft_budget: null,
  budget_duration: '1mo',
  rpm_limit: null,
  tpm_limit: null,
  max_parallel_requests: null,
}

/** The limits of a budget. Empty fields mean "no limit". */
export function LimitFields({ limits, onChange, error }: Props) {
  const field = (name: NumberField) => ({
    hideControls: true,
    thousandSeparator: ',',
    value: limits[name] ?? '',
    onChange: (value: number | string) => onChange({ ...limits, [name]: typeof value === 'number' ? value : null }),
    error: error.at(name),
  })
  const count = { min: 1, allowDecimal: false, placeholder: 'no limit' } as const
  return (
    <Stack gap="md">
      <NumberInput
        label="Limit"
        description="US dollars that may be spent in a period. Empty: no limit"
        prefix="$"
        placeholder="no limit"
        min={0}
        decimalScale={6}
        {...field('max_budget')}
      />
      <Select
        label="Period"
        description="A new period starts when you change it"
        data={periodsWith(limits.budget_duration ?? '')}
        value={limits.budget_duration ?? ''}
        onChange={value => onChange({ ...limits, budget_duration: value === '' ? null : value })}
        error={error.at('budget_duration')}
      />
      <NumberInput
        label="Warn from"
        description="From this amount on, responses carry a warning"
        prefix="$"
        placeholder="no warning"
        min={0}
        decimalScale={6}
        {...field('soft_budget')}
      />
      <NumberInput label="Requests a minute" {...count} {...field('rpm_limit')} />
      <NumberInput label="Tokens a minute" {...count} {...field('tpm_limit')} />
      <NumberInput label="Calls at a time" {...count} {...field('max_parallel_requests')} />
    </Stack>
  )
}
