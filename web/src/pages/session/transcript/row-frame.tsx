import { Menu } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { IconArrowsDiff, IconCheck, IconDots, IconDownload, IconGitFork, IconLink } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { MayChange } from '../../../parts/may-change.tsx'
import type { Row } from '../../../session-log/rows.ts'
import { exportEvents } from '../export.ts'
import { type ForkPoint, useViewer } from '../selection.ts'
import css from './transcript.module.css'

interface Props {
  readonly row: Row
  /** Text in the margin: who speaks. */
  readonly label?: ReactNode
  /** Figures at the right: duration, tokens, cost. */
  readonly aside?: ReactNode
  /** Where to fork the session at this row; rows without it have no menu. */
  readonly forkPoint?: () => ForkPoint
  readonly children: ReactNode
}

/** The common shape of all rows: margin, content, figures, and what can be done with the row. */
export function RowFrame({ row, label, aside, forkPoint, children }: Props) {
  return (
    <div className={css.frame} data-kind={row.kind}>
      <div className={css.label}>{label}</div>
      <div className={css.content}>{children}</div>
      <div className={css.aside}>{aside}</div>
      <div className={css.tools}>
        <CopyLink eventId={row.eventIds[0]} />
        {forkPoint && <RowMenu forkPoint={forkPoint} />}
      </div>
    </div>
  )
}

/** Rows are many, and their buttons are plain ones: those of the kit would take half the time of drawing a row. */
function CopyLink({ eventId }: { readonly eventId: string | undefined }) {
  const { copy, copied } = useClipboard({ timeout: 1500 })
  if (eventId === undefined || eventId === '') return null
  const label = copied ? 'Copied' : 'Copy link'
  const onClick = () => {
    const url = new URL(window.location.href)
    url.search = `?event=${encodeURIComponent(eventId)}`
    copy(url.href)
  }
  return (
    <button type="button" className={css.stepTool} title={label} aria-label={label} onClick={onClick}>
      {copied ? <IconCheck size={12} /> : <IconLink size={12} />}
    </button>
  )
}

/** Fork, compare and export, at a prompt or a model request. The menu exists from its first opening on. */
function RowMenu({ forkPoint }: { readonly forkPoint: () => ForkPoint }) {
  const [isWanted, setWanted] = useState(false)
  if (isWanted) return <StepMenu forkPoint={forkPoint} />
  return (
    <button
      type="button"
      className={css.stepTool}
      aria-label="Actions of this step"
      aria-haspopup="menu"
      aria-expanded={false}
      onClick={() => setWanted(true)}
    >
      <IconDots size={12} />
    </button>
  )
}

function StepMenu({ forkPoint }: { readonly forkPoint: () => ForkPoint }) {
  const { sessionId, isDeleted, fork } = useViewer()
  const navigate = useNavigate()
  return (
    <Menu position="bottom-end" width={200} defaultOpened>
      <Menu.Target>
        <button type="button" className={css.stepTool} aria-label="Actions of this step">
          <IconDots size={12} />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <MayChange>
          <Menu.Item leftSection={<IconGitFork size={14} />} onClick={() => fork(forkPoint())} disabled={isDeleted}>
            Fork from here
          </Menu.Item>
        </MayChange>
        <Menu.Item
          leftSection={<IconArrowsDiff size={14} />}
          onClick={() => void navigate({ to: '/console/compare', search: { a: sessionId } })}
        >
          Compare session
        </Menu.Item>
        <Menu.Item leftSection={<IconDownload size={14} />} onClick={() => void exportEvents(sessionId)}>
          Export events (JSONL)
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
