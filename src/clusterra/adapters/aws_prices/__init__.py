"""The PriceList port over AWS: its price list for machines bought on demand, EC2's for spot."""

from clusterra.adapters.aws_prices.credentials import Credentials as Credentials
from clusterra.adapters.aws_prices.credentials import Instance as Instance
from clusterra.adapters.aws_prices.credentials import Lender as Lender
from clusterra.adapters.aws_prices.credentials import credentials as credentials
from clusterra.adapters.aws_prices.prices import AwsPrices as AwsPrices
