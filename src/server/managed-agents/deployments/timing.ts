import type { DeploymentScheduleWrite } from '../../../contract/managed-deployments.ts'
import { checkTimezone } from '../../http/time-range.ts'
import { AppError } from '../../platform/errors.ts'
import type { DeploymentRow } from './deployment-store.ts'

interface Timed {
  readonly cron: string
  readonly timezone: string
}

/** The rules of cron expressions, which schedules have too. */
export interface CronRules {
  readonly check: (cron: string) => string
  readonly next: (timed: Timed, after: Date) => Date | undefined
  readonly following: (timed: Timed, after: Date, count: number) => Date[]
}

type Stored = Pick<DeploymentRow, 'cron' | 'timezone'>

const shownRuns = 5

/** When deployments run. */
export type DeploymentTiming = ReturnType<typeof createDeploymentTiming>

export const createDeploymentTiming = ({ check, next, following }: CronRules) => ({
  /** Returns a schedule as it is stored. Throws `invalid_request`, naming the field. */
  stored(schedule: DeploymentScheduleWrite | null | undefined): Stored {
    if (!schedule) return { cron: null, timezone: null }
    try {
      return { cron: check(schedule.expression), timezone: checkTimezone(schedule.timezone) }
    } catch (cause) {
      if (!(cause instanceof AppError)) throw cause
      const message = cause.message.replace(/^cron/, 'schedule.expression').replace(/^timezone/, 'schedule.timezone')
      throw new AppError(cause.code, message, { cause })
    }
  },

  /** Returns the first time after `after` at which a deployment is due; null when it never is. */
  next(row: Stored, after: Date): Date | null {
    const timed = timedOf(row)
    return (timed && next(timed, after)) ?? null
  },

  /** Returns the next times of a deployment. */
  upcoming(row: Stored): Date[] {
    const timed = timedOf(row)
    return timed ? following(timed, new Date(), shownRuns) : []
  },
})

const timedOf = ({ cron, timezone }: Stored): Timed | undefined =>
  cron === null || timezone === null ? undefined : { cron, timezone }
