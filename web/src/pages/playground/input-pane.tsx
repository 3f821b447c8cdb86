import { Text, Textarea } from '@mantine/core'
import css from './playground.module.css'
import { SettingsFields } from './settings-fields.tsx'
import { Turns } from './turns.tsx'
import type { Format, PlaygroundForm } from './wire/form.ts'
import { leftOut } from './wire/request.ts'

interface Props {
  readonly form: PlaygroundForm
  readonly format: Format
  readonly edit: (changes: Partial<PlaygroundForm>) => void
  /** Why the form cannot be sent. */
  readonly problem: string | undefined
  readonly isTooLarge: boolean
}

/** The input of all columns. */
export function InputPane({ form, format, edit, problem, isTooLarge }: Props) {
  const lost = leftOut(form, format)
  return (
    <section className={css.input} aria-label="Request">
      <Textarea
        label="System prompt"
        value={form.system}
        onChange={({ currentTarget }) => edit({ system: currentTarget.value })}
        autosize
        minRows={2}
        maxRows={12}
      />
      <Turns turns={form.turns} onChange={turns => edit({ turns })} />
      {problem !== undefined && (
        <Text size="sm" c="dimmed" role="status">
          {problem}
        </Text>
      )}
      {lost !== undefined && <Text size="sm">{lost}</Text>}
      {isTooLarge && <Text size="sm">The input is too large for the storage of this tab: a reload loses it.</Text>}
      <SettingsFields form={form} format={format} edit={edit} />
    </section>
  )
}
