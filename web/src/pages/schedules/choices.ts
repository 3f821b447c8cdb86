/** What to do when a run is due and the previous one has not ended. */
export const overlapOptions = [
  { value: 'skip', label: 'Skip the run' },
  { value: 'queue', label: 'Queue the run' },
  { value: 'allow', label: 'Run both' },
] as const

/** What to do with runs that were due while no server ran. */
export const missedOptions = [
  { value: 'once', label: 'Run the last one' },
  { value: 'skip', label: 'Skip them' },
  { value: 'all', label: 'Run all' },
] as const

export const sessionOptions = [
  { value: 'new', label: 'A new session for each run' },
  { value: 'same', label: 'One session for all runs' },
] as const

/** Patterns to start from. */
export const presets = [
  { value: '*/15 * * * *', label: 'Every 15 minutes' },
  { value: '0 * * * *', label: 'Every hour' },
  { value: '0 9 * * *', label: 'Every day at 09:00' },
  { value: '0 9 * * MON-FRI', label: 'On weekdays at 09:00' },
  { value: '0 9 * * MON', label: 'On Mondays at 09:00' },
  { value: '0 9 1 * *', label: 'On the first day of the month at 09:00' },
  { value: '0 18 L * *', label: 'On the last day of the month at 18:00' },
] as const
