import type { Examples } from './example.ts'

const refund = {
  name: 'Refund in euros',
  prompts: ['A customer paid 20 EUR twice. What do we send back?'],
  graders: [
    { type: 'contains', value: '20' },
    { type: 'regex', name: 'currency', pattern: 'EUR|€' },
  ],
}

/** Datasets and experiments. */
export const evaluationExamples: Examples = {
  'datasets.create': { body: { name: 'Support', description: 'Questions of customers about payments' } },
  'datasets.add': { body: { cases: [refund] } },
  'experiments.list': { query: { dataset_id: '{dataset_id}' } },
  'experiments.create': {
    body: { dataset_id: '{dataset_id}', agent_id: '{agent_id}', max_parallel: 20, max_budget_usd: 5 },
  },
  'experiments.compare': { query: { with: '{base_experiment_id}' } },
}
