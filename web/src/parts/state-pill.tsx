import {
  IconAlertTriangle,
  IconCheck,
  IconCircleDashed,
  IconClock,
  IconHandStop,
  type IconProps,
} from '@tabler/icons-react'
import type { ComponentType } from 'react'
import type { StateName } from '../theme.ts'
import { SafeText } from './safe-text.tsx'
import css from './state-pill.module.css'

const icons: Readonly<Record<StateName, ComponentType<IconProps> | undefined>> = {
  running: undefined,
  attention: IconHandStop,
  waiting: IconClock,
  failed: IconAlertTriangle,
  stopped: IconCircleDashed,
  done: IconCheck,
}

interface Props {
  readonly state: StateName
  /** The word for the state, and what it is about: `bash · npm test`. */
  readonly word: string
  readonly detail?: string | undefined
}

/** Shows a state by icon, word and color. */
export function StatePill({ state, word, detail }: Props) {
  const Icon = icons[state]
  return (
    <span className={css.pill} data-state={state}>
      {Icon ? <Icon size={14} stroke={2} aria-hidden /> : <span className={css.dot} aria-hidden />}
      <span className={css.word}>{word}</span>
      {detail !== undefined && (
        <span className={`${css.detail} clip`}>
          <SafeText text={detail} />
        </span>
      )}
    </span>
  )
}
