import { NumberInput, Select, Textarea } from '@mantine/core'
import { SafeText } from './safe-text.tsx'
import { type SchemaField, shownValue } from './schema-fields.ts'

interface Props {
  readonly field: SchemaField
  readonly value: string
  readonly error: string | undefined
  readonly onChange: (value: string) => void
}

const booleans = [
  { value: 'true', label: 'true' },
  { value: 'false', label: 'false' },
]

/** The control for one property of a schema, whose texts may come from a foreign server. */
export function SchemaControl({ field, value, error, onChange }: Props) {
  const { name, title, description, control, isRequired, isInteger, fallback } = field
  const common = {
    label: <SafeText text={title ?? name} />,
    description: description === undefined ? undefined : <SafeText text={description.slice(0, maxDescription)} />,
    withAsterisk: isRequired,
    error,
  }
  const placeholder = fallback === undefined ? '' : `Default: ${fallback}`.slice(0, 100)
  if (control === 'boolean' || control === 'choice') {
    const choices = field.choices.map((choice, at) => ({ value: String(at), label: shownValue(choice).slice(0, 200) }))
    return (
      <Select
        {...common}
        data={control === 'boolean' ? booleans : choices}
        value={value === '' ? null : value}
        onChange={next => onChange(next ?? '')}
        placeholder={placeholder || 'Not set'}
        clearable={!isRequired}
        searchable={choices.length > 8}
      />
    )
  }
  if (control === 'number') {
    return (
      <NumberInput
        {...common}
        value={value}
        onChange={next => onChange(String(next))}
        placeholder={placeholder}
        allowDecimal={!isInteger}
      />
    )
  }
  const isJson = control === 'json'
  return (
    <Textarea
      {...common}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      placeholder={placeholder || (isJson ? 'JSON' : '')}
      autosize
      minRows={isJson ? 2 : 1}
      maxRows={12}
      spellCheck={!isJson}
      classNames={isJson ? { input: 'mono' } : {}}
    />
  )
}

const maxDescription = 2_000
