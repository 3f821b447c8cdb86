import { Checkbox, NumberInput, Select, TagsInput, TextInput } from '@mantine/core'
import { textsOf } from '../../data/json.ts'
import { type Place, pathOf, valueAt, writeAt } from './settings.ts'
import type { Editing } from './use-draft.ts'

interface Props {
  readonly editing: Editing
  readonly at: Place
  readonly label: string
  readonly description?: string
}

interface NumberProps extends Props {
  readonly min: number
  readonly max: number
  /** What applies when it is empty: `100`. */
  readonly absent: string
  readonly unit?: string
  /** Digits after the point; 0 by default. */
  readonly digits?: number
}

/** A number among the settings; empty removes it. */
export function NumberSetting({ editing, at, label, description, min, max, absent, unit, digits = 0 }: NumberProps) {
  const value = valueAt(editing, at)
  return (
    <NumberInput
      label={label}
      description={description}
      placeholder={absent}
      value={typeof value === 'number' ? value : ''}
      onChange={next => writeAt(editing, at, typeof next === 'number' ? next : undefined)}
      min={min}
      max={max}
      decimalScale={digits}
      allowDecimal={digits > 0}
      clampBehavior="blur"
      thousandSeparator=" "
      {...(unit !== undefined && { suffix: ` ${unit}` })}
      error={editing.errorAt(pathOf(at))}
      hideControls
    />
  )
}

interface ChoiceProps extends Props {
  readonly options: readonly { readonly value: string; readonly label: string }[]
  readonly absent: string
}

/** One of several words; empty removes the setting. */
export function ChoiceSetting({ editing, at, label, description, options, absent }: ChoiceProps) {
  const value = valueAt(editing, at)
  return (
    <Select
      label={label}
      description={description}
      placeholder={absent}
      data={[...options]}
      value={typeof value === 'string' ? value : null}
      onChange={next => writeAt(editing, at, next ?? undefined)}
      error={editing.errorAt(pathOf(at))}
      clearable
    />
  )
}

interface TextProps extends Props {
  readonly absent: string
}

/** A text; empty removes the setting. */
export function TextSetting({ editing, at, label, description, absent }: TextProps) {
  const value = valueAt(editing, at)
  return (
    <TextInput
      label={label}
      description={description}
      placeholder={absent}
      value={typeof value === 'string' ? value : ''}
      onChange={({ currentTarget: { value: next } }) => writeAt(editing, at, next === '' ? undefined : next)}
      error={editing.errorAt(pathOf(at))}
    />
  )
}

interface TextsProps extends Props {
  readonly options?: readonly string[]
  readonly placeholder?: string
  readonly max: number
}

/** A list of texts; an empty one removes the setting. */
export function TextsSetting({ editing, at, label, description, options = [], placeholder, max }: TextsProps) {
  const value = textsOf(valueAt(editing, at))
  return (
    <TagsInput
      label={label}
      description={description}
      data={[...options]}
      value={[...value]}
      onChange={next => writeAt(editing, at, next.length === 0 ? undefined : next)}
      error={editing.errorAt(pathOf(at))}
      maxTags={max}
      {...(value.length === 0 && placeholder !== undefined && { placeholder })}
    />
  )
}

/** A switch; off removes the setting. */
export function FlagSetting({ editing, at, label, description }: Props) {
  return (
    <Checkbox
      label={label}
      description={description}
      checked={valueAt(editing, at) === true}
      onChange={({ currentTarget }) => writeAt(editing, at, currentTarget.checked || undefined)}
      error={editing.errorAt(pathOf(at))}
    />
  )
}
