export function renderOptions(): string;
export function optionExamples(): string;
