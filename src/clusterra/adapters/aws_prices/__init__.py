"""The PriceList port over AWS: its price list for machines bought on demand, EC2's for spot."""

from clusterra.adapters.aws_prices.prices import AwsPrices as AwsPrices
